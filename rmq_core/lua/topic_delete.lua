-- Forgets a topic definition, if its version is still the expected one.
-- KEYS   the registry
-- ARGV   name, expected version, channel of changes
-- reply  1; error RMQVERSION <stored version>
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local version = stored and tonumber(string.match(stored, '^{"version":(%d+),')) or 0
if version ~= tonumber(ARGV[2]) then
  return redis.error_reply(string.format('RMQVERSION %d', version))
end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('PUBLISH', ARGV[3], ARGV[1])
return 1
