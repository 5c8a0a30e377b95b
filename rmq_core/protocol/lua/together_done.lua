-- One message of a set has succeeded. Asked again, it says the same: until what follows has been sent and the set deleted.
-- KEYS   the set
-- ARGV   the message's number
-- reply  what follows, where all have succeeded; else false (also where no such set is there, or not any more)
redis.call('HDEL', KEYS[1], ARGV[1])
return redis.call('HLEN', KEYS[1]) == 1 and redis.call('HGET', KEYS[1], 'then')
