-- Stores the definition of a consumer group, if its revision is still the expected one.
-- KEYS   the topic's registry of groups; '<going or gone> <created_ms>' where that life of the topic is being deleted, or
--        was: whoever has read its definition before that would leave a group of no topic; the format of the namespace
--        (not given where that is on another node)
-- ARGV   group, expected revision (0: there must be none), definition as JSON (without what is added here), channel of
--        changes, topic, when the topic was created: a group of an earlier life of it is none; the format that the
--        caller writes; when the expected one was created (0: at any time)
-- reply  the stored definition; error RMQVERSION <stored revision>, RMQGOING, RMQSHAPE <gone …>, RMQFORMAT <format>:
--        nothing was done
local format = KEYS[3] and redis.call('GET', KEYS[3])
if format and format ~= ARGV[7] then
  return redis.error_reply('RMQFORMAT ' .. format)
end
local how, life = string.match(redis.call('GET', KEYS[2]) or '', '^(%a+) (%d+)$')
if life and tonumber(life) >= tonumber(ARGV[6]) then
  return redis.error_reply(how == 'going' and 'RMQGOING' or string.format('RMQSHAPE gone %s', life))
end
local LAST = '@' -- no group's name; when a group was created last
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local revision, born = string.match(stored or '', '^{"revision":(%d+),"created_ms":(%d+),')
revision, born = tonumber(revision), tonumber(born)
if not born or born < tonumber(ARGV[6]) then
  revision, born = 0, nil
end
local expected_born = tonumber(ARGV[8] or 0)
if revision ~= tonumber(ARGV[2]) or (expected_born > 0 and born ~= expected_born) then
  return redis.error_reply(string.format('RMQVERSION %d', revision))
end
-- Removed first: a full server refuses a script whose first write adds, and a change may be what makes room.
redis.call('HDEL', KEYS[1], '')
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if not born then
  born = math.max(now, tonumber(ARGV[6]), (tonumber(redis.call('HGET', KEYS[1], LAST) or nil) or 0) + 1)
  redis.call('HSET', KEYS[1], LAST, string.format('%.0f', born))
end
local made = string.format(
  '{"revision":%d,"created_ms":%.0f,"updated_ms":%.0f,', revision + 1, born, now
) .. string.sub(ARGV[3], 2)
redis.call('HSET', KEYS[1], ARGV[1], made)
redis.call('PUBLISH', ARGV[4], ARGV[5])
return made
