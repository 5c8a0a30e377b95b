-- What waits in one slot of a priority topic, by priority, the least first; reads only.
-- KEYS   store, stats
-- ARGV   most bands
-- reply  {now, all that were accepted, all that were taken, how many wait, how many of them failed before,
--        {priority, waiting, score of its first, …}, the least priority above these (-1: none)}
local STORE, STATS = KEYS[1], KEYS[2]
local RETRIED_MAX = 16
local now, micros
-- include shared/clock.lua
-- include shared/priority_places.lua

local stats = redis.call('HMGET', STATS, 'sent', 'placed', 'taken')
local function counter(at)
  return tonumber(stats[at] or 0)
end

local bands, above = {}, -1
local from = '(' .. RETRIED_MAX
for _ = 0, tonumber(ARGV[1]) do
  local least = redis.call('ZRANGEBYSCORE', STORE, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if #least == 0 or tonumber(least[2]) > 4398046511104 then -- in lanes: priorities say nothing between tenants
    break
  end
  local priority = priority_of(least[2])
  if #bands == ARGV[1] * 3 then
    above = priority
    break
  end
  -- Of equals the first has the highest score; whole ones are of releases without places.
  local low, high = string.format('(%d', priority - 1), string.format('%d', priority)
  bands[#bands + 1] = priority
  bands[#bands + 1] = redis.call('ZCOUNT', STORE, low, high)
  bands[#bands + 1] = redis.call('ZREVRANGEBYSCORE', STORE, high, low, 'WITHSCORES', 'LIMIT', 0, 1)[2]
  from = '(' .. priority
end
return {
  now, counter(1) + counter(2), counter(3), redis.call('ZCARD', STORE),
  redis.call('ZCOUNT', STORE, '-inf', RETRIED_MAX), bands, above,
}
