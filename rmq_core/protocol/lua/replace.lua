-- Puts a text that expires where the one before was. Not a SET: a full server would refuse that.
-- KEYS   the key
-- ARGV   text, for how long (ms)
-- reply  OK
redis.call('DEL', KEYS[1])
return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
