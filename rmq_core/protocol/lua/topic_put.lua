-- Stores a topic definition, if its version is still the one the change was made from.
-- KEYS   the registry; when which topic was deleted on purpose, by name (ms); the format of the namespace
-- ARGV   name, expected version (0: must not exist), definition as a JSON object without version and times, channel of
--        changes, when the expected one was created (0: not known): a topic made again has the same versions again;
--        the format that the caller writes; of one that must not exist perhaps the life that its slots still have, with
--        messages, and the highest version they know: a registry that was lost begins no new one, unless it was deleted
-- reply  the stored definition; error RMQVERSION <stored version>, RMQGOING (it is being deleted, see topic_going.lua),
--        RMQFORMAT <format>: nothing was done
local format = redis.call('GET', KEYS[3])
if format and format ~= ARGV[6] then
  return redis.error_reply('RMQFORMAT ' .. format)
end
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local version = stored and tonumber(string.match(stored, '^{"version":(%d+),')) or 0
local born = stored and tonumber(string.match(stored, '"created_ms":(%d+)') or 0) or 0
local another_life = version > 0 and ARGV[5] ~= '0' and born ~= tonumber(ARGV[5])
if version ~= tonumber(ARGV[2]) or another_life then
  return redis.error_reply(string.format('RMQVERSION %d', version))
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local going = stored and string.match(stored, ',"going_s":(%d+)}$')
if going and math.abs(going - time[1]) < 60 then
  return redis.error_reply('RMQGOING')
end
-- The time of its creation tells one life of a topic from the next; definitions older than this field have none.
local deleted = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or nil) or 0
local created = stored and born or math.max(now, deleted + 1)
if not stored and tonumber(ARGV[7] or 0) > deleted then
  created, version = tonumber(ARGV[7]), tonumber(ARGV[8])
end
local definition = string.format('{"version":%d,"updated_ms":%.0f,"created_ms":%.0f,', version + 1, math.max(now, created), created)
  .. string.sub(ARGV[3], 2)
-- Removed first: a full server refuses a script whose first write adds, and a change may be what makes room.
if stored then
  redis.call('HDEL', KEYS[1], ARGV[1])
end
redis.call('HSET', KEYS[1], ARGV[1], definition)
if not format then
  redis.call('SET', KEYS[3], ARGV[6])
end
redis.call('PUBLISH', ARGV[4], ARGV[1])
return definition
