-- What one slot of a stream topic holds, and its counters, at one instant; reads only.
-- KEYS   the slot's keys
-- ARGV   kind
-- reply  as of snapshot.lua, where all that a stream has not is 0 or -1, and behind it
--        entries, id of the first, id of the last ('' for none)
-- include shared/keys.lua
-- include shared/clock.lua

local function end_of(command, from, to)
  local found = redis.call(command, STORE, from, to, 'COUNT', 1)[1]
  return found and found[1] or ''
end

return {
  now, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1,
  redis.call('GET', FENCE) or '', redis.call('HGETALL', STATS), {}, 0, -1, 0, 0, -1,
  redis.call('XLEN', STORE), end_of('XRANGE', '-', '+'), end_of('XREVRANGE', '+', '-'),
}
