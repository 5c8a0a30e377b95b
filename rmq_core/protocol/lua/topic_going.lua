-- Says that a stream topic is being deleted, if its version is still the expected one: its groups go before it, and whoever
-- changed it meanwhile would keep a topic without them. Changes are refused for a minute, and then made: whoever deleted it
-- has died. Nothing else knows of it.
-- KEYS   the registry; the format of the namespace
-- ARGV   name, expected version, when the expected one was created, the format the caller knows
-- reply  1; error RMQVERSION <stored version>, RMQFORMAT <format>: nothing was done
-- include shared/expected_topic.lua

local stored, _, refused = expected_topic(KEYS[1], ARGV[1], ARGV[2], ARGV[3], KEYS[2], ARGV[4])
if refused then
  return refused
end
local time = redis.call('TIME')
local rest = string.gsub(string.sub(stored, 1, -2), ',"going_s":%d+$', '')
-- Removed first: a full server refuses a script whose first write adds.
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[1], ARGV[1], rest .. ',"going_s":' .. time[1] .. '}')
return 1
