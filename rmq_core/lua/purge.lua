-- Deletes every key of a slot, whatever it holds.
-- KEYS   the slot's keys
-- reply  the number of messages that went with it
-- include shared/slot.lua

local gone = 0
for _, queue in ipairs({STORE, RETRY, PREPARE, DEAD}) do
  gone = gone + redis.call('ZCARD', queue)
end
redis.call('UNLINK', unpack(KEYS))
return gone
