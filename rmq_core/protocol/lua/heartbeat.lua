-- Says that a worker is alive, and forgets those not heard of for long.
-- KEYS   the workers hash
-- ARGV   name, a JSON object about it ('' removes it), forget_ms
-- reply  now
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  -- Removed first: a full server refuses a script whose first write adds.
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('HSET', KEYS[1], ARGV[1], string.format('{"seen_ms":%.0f,', now) .. string.sub(ARGV[2], 2))
end
-- Of a large fleet only some look at all the others, or a thousand workers would keep the server busy with each other.
local one_in = math.ceil(redis.call('HLEN', KEYS[1]) / 16)
if one_in > 1 and tonumber(time[2]) % one_in ~= 0 then
  return now
end
local known = redis.call('HGETALL', KEYS[1])
for i = 1, #known, 2 do
  local seen_ms = tonumber(string.match(known[i + 1], '^{"seen_ms":(%d+)') or 0)
  if now - seen_ms > tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], known[i])
  end
end
return now
