-- Begins a set of messages that something follows. One of that name that is there already goes on.
-- KEYS   the set
-- ARGV   for how long it is kept (ms), what follows, how many messages
-- reply  1 begun, 0 it was there
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
for number = 1, tonumber(ARGV[3]) do
  redis.call('HSET', KEYS[1], number, '')
end
redis.call('HSET', KEYS[1], 'then', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
