-- Deletes every key of a slot, whatever it holds, and for a while refuses whoever has not heard that the topic is gone.
-- KEYS   the slot's keys
-- ARGV   how long to refuse (ms)
-- reply  the number of messages that went with it
-- include shared/slot.lua

local gone = 0
for _, queue in ipairs({STORE, RETRY, PREPARE, DEAD}) do
  gone = gone + redis.call('ZCARD', queue)
end
for i, key in ipairs(KEYS) do
  if key ~= HEADS and key ~= DUE then
    redis.call('UNLINK', key)
  end
end
-- On Cluster the store stands in the places of the hints.
redis.call('UNLINK', STORE)
redis.call('HSET', STATS, 'shape', 'gone')
redis.call('PEXPIRE', STATS, ARGV[1])
return gone
