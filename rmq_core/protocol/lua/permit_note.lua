-- Notes what slots of a topic were measured to use; the rest of its permits can be given again.
-- KEYS   the topic's permits, and who has some (see permit_ask.lua)
-- ARGV   generation of the definition, concurrency, then slot, sequence before the measurement, limit, its sequence, …
-- reply  what is free now
local AGAIN_MS = 1500
local version, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local known = redis.call('HMGET', KEYS[1], 'version', 'sum')
local known_version, sum = tonumber(known[1] or nil), tonumber(known[2] or nil) or 0
if known_version and known_version > version then
  return 0
end
redis.call('HDEL', KEYS[1], 'checked') -- first: a full server refuses a script whose first write adds
local behind = false
for i = 3, #ARGV, 4 do
  local slot, expected, used, reached = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local sequence, limit, since = string.match(redis.call('HGET', KEYS[1], slot) or '', '^(%d+) (%d+) (%d+)$')
  if (tonumber(sequence) or 0) == expected then
    sum = sum - (tonumber(limit) or 0) + used
    -- A slot is at most one ahead, for what is given is written here first: else this has lost its last writes.
    behind = behind or reached > expected + 1
    redis.call('HSET', KEYS[1], slot, string.format('%d %.0f %s', reached, used, since or '0'))
    if used > 0 then
      redis.call('ZADD', KEYS[2], used, 'h' .. slot)
    else
      redis.call('ZREM', KEYS[2], 'h' .. slot)
    end
  end
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('HSET', KEYS[1],
  'version', ARGV[1], 'most', ARGV[2], 'sum', string.format('%.0f', sum), 'checked', string.format('%.0f', now))
if behind or known_version ~= version then
  -- What is behind of one slot is of others, too.
  redis.call('HSET', KEYS[1], 'again', string.format('%.0f', behind and now or now + AGAIN_MS))
end
return most - sum
