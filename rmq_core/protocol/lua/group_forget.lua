-- Forgets the definition of a consumer group, if its revision is still the expected one.
-- KEYS   the topic's registry of groups; the format of the namespace (not given where that is on another node)
-- ARGV   group, expected revision, when it was created, channel of changes, topic, the format the caller knows; the time
--        (ms) of the last entry of its journals
-- reply  1; error RMQVERSION <stored revision>, RMQFORMAT <format>: nothing was done
local format = KEYS[2] and redis.call('GET', KEYS[2])
if format and format ~= ARGV[6] then
  return redis.error_reply('RMQFORMAT ' .. format)
end
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local revision, born = string.match(stored or '', '^{"revision":(%d+),"created_ms":(%d+),')
if revision ~= ARGV[2] or born ~= ARGV[3] then
  return redis.error_reply('RMQVERSION ' .. (revision or '0'))
end
redis.call('HDEL', KEYS[1], ARGV[1])
-- As of a topic (`topic_delete`): whoever comes after it begins behind its journals.
local LAST = '@' -- no group's name; when a group was created last
local time = redis.call('TIME')
local written = tonumber(ARGV[7] or 0)
local last = tonumber(redis.call('HGET', KEYS[1], LAST) or nil) or 0
if written > last and written - tonumber(time[1]) * 1000 <= 366 * 86400000 then
  redis.call('HSET', KEYS[1], LAST, string.format('%.0f', written))
end
redis.call('PUBLISH', ARGV[4], ARGV[5])
return 1
