-- Marks a member with a score, in a sorted set that expires. Not a ZADD: a full server would refuse that.
-- KEYS   the sorted set
-- ARGV   member, score, for how long (ms)
-- reply  1
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
return redis.call('PEXPIRE', KEYS[1], ARGV[3])
