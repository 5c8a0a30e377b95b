-- Notes what the slots of a topic were measured to use; the rest of max_backlog can be given again.
-- KEYS   the topic's quotas (see quota_ask.lua)
-- ARGV   version of the definition, max_backlog, then slot, sequence before the measurement, limit, …
-- reply  what is free now
local version, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local known = redis.call('HMGET', KEYS[1], 'version', 'sum')
local sum = tonumber(known[2] or nil) or 0
if known[1] and tonumber(known[1]) > version then
  return 0
end
for i = 3, #ARGV, 3 do
  local sequence, limit = string.match(redis.call('HGET', KEYS[1], ARGV[i]) or '', '^(%d+) (%d+)$')
  if (tonumber(sequence) or 0) == tonumber(ARGV[i + 1]) then
    sum = sum - (tonumber(limit) or 0) + tonumber(ARGV[i + 2])
    redis.call('HSET', KEYS[1], ARGV[i], string.format('%d %.0f', ARGV[i + 1] + 1, ARGV[i + 2]))
  end
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('HSET', KEYS[1],
  'version', ARGV[1], 'most', ARGV[2], 'sum', string.format('%.0f', sum),
  'checked', string.format('%.0f', now), 'found', string.format('%.0f', math.max(0, most - sum)))
return most - sum
