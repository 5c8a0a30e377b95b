-- Forgets the definition of a consumer group, if its revision is still the expected one.
-- KEYS   the topic's registry of groups
-- ARGV   group, expected revision, when it was created, channel of changes, topic
-- reply  1; error RMQVERSION <stored revision>
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local revision, born = string.match(stored or '', '^{"revision":(%d+),"created_ms":(%d+),')
if revision ~= ARGV[2] or born ~= ARGV[3] then
  return redis.error_reply('RMQVERSION ' .. (revision or '0'))
end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('PUBLISH', ARGV[4], ARGV[5])
return 1
