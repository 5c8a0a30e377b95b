-- Deletes every key of a slot, and for a while refuses whoever has not heard that the topic is gone. A slot that belongs
-- to another life of the topic by now is left alone.
-- KEYS   the slot's keys
-- ARGV   shape of the life that is deleted, when that began, how long to refuse (ms)
-- reply  the number of messages that went with it
-- include shared/keys.lua
-- include shared/holding.lua

local known = redis.call('HGET', STATS, 'shape')
if known and known ~= ARGV[1] and string.sub(known, 1, 4) ~= 'gone' then
  return 0
end
-- include shared/purging.lua
redis.call('HSET', STATS, 'shape', 'gone ' .. ARGV[2])
redis.call('PEXPIRE', STATS, ARGV[3])
return gone
