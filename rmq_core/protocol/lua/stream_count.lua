-- Counts the entries of a slot behind an id, a bounded number at a time; reads only.
-- KEYS   the slot's stream, stats
-- ARGV   from and to (as for XRANGE), most
-- reply  {how many, id of the first ('' none), id of the last, added in all, deleted in all, id of the newest entry}
local told = redis.call('HMGET', KEYS[2], 'sent', 'deleted')
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[2], 'COUNT', ARGV[3])
local n = #found
return {
  n, n > 0 and found[1][1] or '', n > 0 and found[n][1] or '',
  tonumber(told[1] or nil) or 0, tonumber(told[2] or nil) or 0, newest and newest[1] or '',
}
