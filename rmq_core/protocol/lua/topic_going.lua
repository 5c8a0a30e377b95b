-- Says that a stream topic is being deleted, if its version is still the expected one: its groups go before it, and whoever
-- changed it meanwhile would keep a topic without them. Changes are refused for a minute, and then made: whoever deleted it
-- has died. Nothing else knows of it.
-- KEYS   the registry; the format of the namespace
-- ARGV   name, expected version, when the expected one was created, the format the caller knows
-- reply  1; error RMQVERSION <stored version>, RMQFORMAT <format>: nothing was done
local format = redis.call('GET', KEYS[2])
if format and format ~= ARGV[4] then
  return redis.error_reply('RMQFORMAT ' .. format)
end
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local version = stored and tonumber(string.match(stored, '^{"version":(%d+),')) or 0
local born = stored and tonumber(string.match(stored, '"created_ms":(%d+)') or 0)
if version ~= tonumber(ARGV[2]) or born ~= tonumber(ARGV[3]) then
  return redis.error_reply(string.format('RMQVERSION %d', version))
end
local time = redis.call('TIME')
local rest = string.gsub(string.sub(stored, 1, -2), ',"going_s":%d+$', '')
-- Removed first: a full server refuses a script whose first write adds.
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[1], ARGV[1], rest .. ',"going_s":' .. time[1] .. '}')
return 1
