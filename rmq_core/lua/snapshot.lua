-- Counts, heads and counters of one slot at one instant; reads only.
-- KEYS   the slot's keys
-- ARGV   kind
-- reply  {now, store, ready, retry, prepare, dead, bodies, failure records, oldest due, next due, next retry,
--        oldest taken, (all ms; -1: none), fence ('' for none), {counter, n, …}, {lateness bucket, n, …},
--        trash, when the oldest of it was removed (ms; -1: none)}
-- include shared/slot.lua

local function head(command, ...)
  local found = redis.call(command, STORE, ...)
  return found[2] and tonumber(found[2]) or -1
end

local function removed_ms()
  local found = redis.call('ZRANGE', TRASH, 0, 0, 'WITHSCORES')
  return found[2] and tonumber(found[2]) or -1
end

local function stamp_ms(queue)
  local found = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  return found[2] and math.floor(tonumber(found[2]) / SHIFT) or -1
end

local stored = redis.call('ZCARD', STORE)
local ready, oldest_due, next_due = stored, -1, -1
if ARGV[1] ~= 'priority' and stored > 0 then
  ready = redis.call('ZCOUNT', STORE, '-inf', now)
  oldest_due = head('ZRANGEBYSCORE', '(' .. RETRIED_MAX, now, 'WITHSCORES', 'LIMIT', 0, 1)
  next_due = head('ZRANGEBYSCORE', '(' .. string.format('%.0f', now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
end
return {
  now, stored, ready,
  redis.call('ZCARD', RETRY), redis.call('ZCARD', PREPARE), redis.call('ZCARD', DEAD),
  redis.call('HLEN', BODY), redis.call('HLEN', FAILED),
  oldest_due, next_due, stamp_ms(RETRY), stamp_ms(PREPARE),
  redis.call('GET', FENCE) or '', redis.call('HGETALL', STATS), redis.call('HGETALL', LATENESS),
  redis.call('ZCARD', TRASH), removed_ms(),
}
