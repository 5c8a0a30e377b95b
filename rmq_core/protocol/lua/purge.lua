-- Deletes every key of a slot, and for a while refuses whoever has not heard that the topic is gone. A slot that belongs
-- to another life of the topic by now is left alone.
-- KEYS   the slot's keys
-- ARGV   shape of the life that is deleted, when that began, how long to refuse (ms)
-- reply  the number of messages that went with it; error RMQSHAPE <shape> of a format that this release does not know
-- include shared/keys.lua
-- include shared/holding.lua

local known = redis.call('HGET', STATS, 'shape')
known = known and (string.gsub(known, '^' .. HELD_FORMAT, ''))
if known and string.match(known, '^f%d') then -- of a later format, see rmq_core/model/formats.py
  return redis.error_reply('RMQSHAPE ' .. known)
elseif known and known ~= ARGV[1] and string.sub(known, 1, 4) ~= 'gone' then
  return 0
end
-- include shared/purging.lua
redis.call('HSET', STATS, 'shape', 'gone ' .. ARGV[2])
redis.call('PEXPIRE', STATS, ARGV[3])
return gone
