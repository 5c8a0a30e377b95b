-- Gives a slot more of its topic's permits (`concurrency`). What all slots were given together never exceeds these.
-- KEYS   the topic's permits: slot → '<sequence> <limit> <when its turn began>', and version, most, sum, checked, again
--        who has some: 'h<slot>' → limit, and who waits for some: 'w<slot>' → when it asked last; AT_HAND later where
--        that was somebody who chooses between all slots
-- ARGV   generation of the definition, concurrency, slots, slot, wanted, whether who asks chooses between all slots (1|0)
-- reply  {1, version, sequence, limit}: the slot's new limit, to be set by permit_set.lua
--        {0, ms}: none is free, or it is the turn of others; worth another try so much later
--        {2, slot, its sequence, …}: measure these first (permit_measure.lua), and tell permit_note.lua
-- include shared/permits.lua
local RECENT_MS, BACK_MS, PAUSE_LEAST_MS, SLOTS_A_MS, LIMIT_MOST, AT_HAND = 1500, 50, 5, 4, 10000000, '4503599627370496'
local version, most, slots = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local slot, wanted, chooses = ARGV[4], tonumber(ARGV[5]), ARGV[6] == '1'
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function measure(which)
  local reply = {2}
  for first = 1, #which, 1000 do
    local some = {unpack(which, first, math.min(#which, first + 999))}
    for i, given in ipairs(redis.call('HMGET', KEYS[1], unpack(some))) do
      reply[#reply + 1] = tonumber(some[i])
      reply[#reply + 1] = tonumber(string.match(given or '', '^%d+') or 0)
    end
  end
  return reply
end

local function measure_all()
  local which = {}
  for i = 1, slots do
    which[i] = tostring(i - 1)
  end
  return measure(which)
end

local known = redis.call('HMGET', KEYS[1], 'version', 'most', 'sum', 'checked', 'again')
local known_version = tonumber(known[1] or nil)
if not known_version or known_version < version then
  return measure_all()
elseif known[5] and known_version == version and now >= tonumber(known[5]) then
  -- What others took before they had heard of the limit is seen now.
  redis.call('HDEL', KEYS[1], 'again')
  return measure_all()
end
-- Whoever asks with an older definition is answered by the newer one.
most = tonumber(known[2])
local sum, checked = tonumber(known[3]), tonumber(known[4])

-- How many slots wait whose marks are of now + `base`; those of long ago, or of before the clock stepped back, go.
local function waiting(base, least, most)
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '(' .. least, string.format('%.0f', tonumber(base) + now - RECENT_MS))
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '(' .. string.format('%.0f', tonumber(base) + now), most)
  return redis.call('ZCOUNT', KEYS[2], '(' .. least, most)
end

-- Who chooses between all slots has nobody waiting for the others: what it asks for is what comes first in the topic.
redis.call('ZREM', KEYS[2], 'w' .. slot)
local others_wait = waiting(0, LIMIT_MOST, AT_HAND) > 0
others_wait = waiting(AT_HAND, AT_HAND, '+inf') > 0 and not chooses or others_wait
redis.call('ZADD', KEYS[2], string.format('%.0f', now + (chooses and tonumber(AT_HAND) or 0)), 'w' .. slot)

local sequence, limit, since = string.match(redis.call('HGET', KEYS[1], slot) or '', '^(%d+) (%d+) (%d+)$')
sequence, limit, since = (tonumber(sequence) or 0) + 1, tonumber(limit) or 0, tonumber(since) or 0
local next_turn = since + PERMITTED_MS + BACK_MS
if others_wait and now >= since and now < next_turn then
  return {0, next_turn - now}
end

local free = most - sum
-- Where nobody else waits, a slot whose turn is over keeps what it has for another while, though nothing is free. One that
-- asks before that has used it up, and others may have what they do not use.
local over = now < since or now >= since + PERMITTED_MS
if free < 1 and (chooses or not (limit > 0 and sum <= most and not others_wait and over)) then
  local holders = redis.call('ZRANGEBYSCORE', KEYS[2], 1, LIMIT_MOST)
  local pause_ms = math.max(PAUSE_LEAST_MS, math.floor(#holders / SLOTS_A_MS))
  if now >= checked and now - checked < pause_ms then
    return {0, checked + pause_ms - now}
  end
  -- Others who ask meanwhile need not measure, too.
  redis.call('HSET', KEYS[1], 'checked', string.format('%.0f', now))
  for i, holder in ipairs(holders) do
    holders[i] = string.sub(holder, 2)
  end
  return measure(holders)
end
local permit = math.max(0, math.min(free, wanted))
limit = limit + permit
redis.call('ZREM', KEYS[2], 'w' .. slot)
redis.call('ZADD', KEYS[2], limit, 'h' .. slot)
redis.call(
  'HSET', KEYS[1], slot, string.format('%d %.0f %.0f', sequence, limit, now), 'sum', string.format('%.0f', sum + permit)
)
return {1, known_version, sequence, limit}
