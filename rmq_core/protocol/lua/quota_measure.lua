-- Takes back what a slot was given and does not use: its limit is now what waits in it.
-- KEYS   the slot's store, retry, quota
-- ARGV   version of the definition, the sequence the topic's quotas had for the slot
-- reply  the new limit, of the sequence after that; -1: somebody else was faster
local version, expected = tonumber(ARGV[1]), tonumber(ARGV[2])
local known, sequence, limit = string.match(redis.call('GET', KEYS[3]) or '', '^(%d+) (%d+) (%d+)$')
if known and (tonumber(known) > version or tonumber(sequence) > expected + 1) then
  return -1
end
local used = redis.call('ZCARD', KEYS[1]) + redis.call('ZCARD', KEYS[2])
if tonumber(sequence) == expected + 1 then
  -- Another measurement of the same sequence, or one whose author died before telling: the lower one holds for both.
  used = math.min(used, tonumber(limit))
end
redis.call('SET', KEYS[3], string.format('%d %d %.0f', version, expected + 1, used))
return used
