-- Forgets a topic definition, if its version is still the expected one.
-- KEYS   the registry; when which topic was deleted on purpose, by name (ms): a restore must not bring it back; the
--        format of the namespace
-- ARGV   name, expected version, channel of changes, when the expected one was created, the format the caller knows; the
--        time (ms) of the last entry of its journals, and of those of its groups
-- reply  1; error RMQVERSION <stored version>, RMQFORMAT <format>: nothing was done
-- include shared/expected_topic.lua

local _, born, refused = expected_topic(KEYS[1], ARGV[1], ARGV[2], ARGV[4], KEYS[3], ARGV[5])
if refused then
  return refused
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- A life that came right after another may have begun a moment ahead of the clock, and where the clock was set back its
-- journals are ahead by so much: the next one begins behind all of that. (What is ahead by years is no time.)
local written = tonumber(ARGV[6] or 0)
if written - now > 366 * 86400000 then
  written = 0
end
-- Removed first: a full server refuses a script whose first write adds.
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], string.format('%.0f', math.max(now, born or 0, written)))
redis.call('PUBLISH', ARGV[3], ARGV[1])
return 1
