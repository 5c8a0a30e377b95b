-- Gives a slot more of its topic's permits (`concurrency`). What all slots were given together never exceeds these.
-- KEYS   the topic's permits: slot → '<sequence> <limit>', and version, most, sum, checked, found (as of quota_ask.lua), and
--        'w<slot>' → when one that waits asked last; the slots that wait → since when
-- ARGV   version of the definition, concurrency, slots, slot, wanted
-- reply  {1, version, sequence, limit}: the slot's new limit, to be set by permit_set.lua
--        {0, ms}: none is free, or for others who wait for longer; worth another try so much later
--        {2, sequence of each slot, …}: measure the slots first (permit_measure.lua), and tell quota_note.lua
local PAUSE_LEAST_MS, PAUSE_MOST_MS = 20, 1000
-- Who has not asked for so long is not waited for; for so long, loses its place.
local SILENT_MS, GONE_MS, BEFORE_MOST = 150, 2000, 64
local version, most, slots = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local slot, wanted = ARGV[4], tonumber(ARGV[5])
-- Measuring costs a call per slot: two slots in a millisecond, not more.
local pause_ms = math.max(PAUSE_LEAST_MS, math.min(PAUSE_MOST_MS, math.floor(slots / 2)))
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function measure()
  local fields, reply = {}, {2}
  for i = 0, slots - 1 do
    fields[#fields + 1] = tostring(i)
    if #fields == 1000 or i == slots - 1 then
      for _, given in ipairs(redis.call('HMGET', KEYS[1], unpack(fields))) do
        reply[#reply + 1] = tonumber(string.match(given or '', '^%d+') or 0)
      end
      fields = {}
    end
  end
  return reply
end

local known = redis.call('HMGET', KEYS[1], 'version', 'most', 'sum', 'checked')
local known_version = tonumber(known[1] or nil)
if not known_version or known_version < version then
  return measure()
end
-- Whoever asks with an older definition is answered by the newer one.
most = tonumber(known[2])
local sum, checked = tonumber(known[3]), tonumber(known[4])

redis.call('ZADD', KEYS[2], 'NX', now, slot)
redis.call('PEXPIRE', KEYS[2], GONE_MS)
redis.call('HSET', KEYS[1], 'w' .. slot, string.format('%.0f', now))
local before = 0
local waiters = redis.call('ZRANGE', KEYS[2], 0, math.min(BEFORE_MOST, redis.call('ZRANK', KEYS[2], slot)))
for _, waiter in ipairs(waiters) do
  local silent_ms = now - tonumber(redis.call('HGET', KEYS[1], 'w' .. waiter) or 0)
  if silent_ms > GONE_MS or silent_ms < 0 then
    redis.call('ZREM', KEYS[2], waiter)
    redis.call('HDEL', KEYS[1], 'w' .. waiter)
  elseif waiter ~= slot and silent_ms < SILENT_MS then
    before = before + 1
  end
end
local sequence, limit = string.match(redis.call('HGET', KEYS[1], slot) or '', '^(%d+) (%d+)$')
sequence, limit = (tonumber(sequence) or 0) + 1, tonumber(limit) or 0

local free = most - sum - before
local renews = limit > 0 and sum <= most and redis.call('ZCARD', KEYS[2]) == 1
if free < 1 and not renews then
  if now >= checked and now - checked < pause_ms then
    return {0, checked + pause_ms - now}
  end
  -- Others who ask meanwhile need not measure, too.
  redis.call('HSET', KEYS[1], 'checked', string.format('%.0f', now))
  return measure()
end
-- Where nobody else waits, a slot keeps what it has for another while, though nothing is free.
local permit = math.max(0, math.min(free, wanted))
redis.call('ZREM', KEYS[2], slot)
redis.call('HDEL', KEYS[1], 'w' .. slot)
limit = limit + permit
redis.call('HSET', KEYS[1], slot, string.format('%d %.0f', sequence, limit), 'sum', string.format('%.0f', sum + permit))
return {1, known_version, sequence, limit}
