-- Marks a slot with the life of its topic: scripts refuse callers that know another one.
-- KEYS   the slot's keys
-- ARGV   shape: '<kind> <slots> <created_ms>'
-- reply  1
-- include shared/slot.lua

redis.call('HSET', STATS, 'shape', ARGV[1])
redis.call('PERSIST', STATS)
return 1
