-- What the books of one slot say at one instant, and how far its journal has come; reads only.
-- KEYS   store, retry, prepare, dead, body, failed, stats, journal
-- reply  {now, store, retry, prepare, dead, bodies, failure records, {counter, n, …}, entries in the journal,
--        id of its oldest entry, id of its newest ('' where there is none)}
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function edge(command, from, to)
  local found = redis.call(command, KEYS[8], from, to, 'COUNT', 1)
  return found[1] and found[1][1] or ''
end

return {
  now,
  redis.call('ZCARD', KEYS[1]), redis.call('ZCARD', KEYS[2]), redis.call('ZCARD', KEYS[3]), redis.call('ZCARD', KEYS[4]),
  redis.call('HLEN', KEYS[5]), redis.call('HLEN', KEYS[6]), redis.call('HGETALL', KEYS[7]),
  redis.call('XLEN', KEYS[8]), edge('XRANGE', '-', '+'), edge('XREVRANGE', '+', '-'),
}
