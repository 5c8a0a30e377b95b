-- Notes who owns slots of a topic, for people to see; what counts is the fence.
-- KEYS   the topic's owners hash, its timeline stream
-- ARGV   event (acquired, released, unfenced), worker, epoch, reason, entries the timeline may have, slots as ranges ('0-3,7'),
--        then the slots one by one
-- reply  now
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local event, worker, epoch = ARGV[1], ARGV[2], ARGV[3]
-- A full server refuses a script whose first write adds.
redis.call('HDEL', KEYS[1], '')
local mark = epoch .. ' '
for i = 7, #ARGV do
  if event == 'acquired' then
    redis.call('HSET', KEYS[1], ARGV[i], string.format('%s%.0f ', mark, now) .. worker)
  else
    local known = redis.call('HGET', KEYS[1], ARGV[i])
    if known and (event == 'unfenced' or string.sub(known, 1, #mark) == mark) then
      redis.call('HDEL', KEYS[1], ARGV[i])
    end
  end
end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*',
  'event', event, 'worker', worker, 'epoch', epoch, 'reason', ARGV[4], 'slots', ARGV[6])
return now
