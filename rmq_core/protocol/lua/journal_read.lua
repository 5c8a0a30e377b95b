-- What a slot's journal holds after a position, and how far it goes; reads only.
-- KEYS   the slot's keys
-- ARGV   id of the last entry read ('0': from the beginning), most entries
-- reply  {running number of the last entry ever written (-1: nobody knows), entries, mark ('' for none), {id, {field, value, …}, …}}
-- include shared/slot.lua

local JOURNAL = KEYS[9]
-- include shared/last_number.lua

return {
  (last_number()), redis.call('XLEN', JOURNAL),
  redis.call('HGET', STATS, 'journal') or '',
  redis.call('XRANGE', JOURNAL, '(' .. ARGV[1], '+', 'COUNT', ARGV[2]),
}
