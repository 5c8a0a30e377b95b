-- Lets a slot use the limit it was given, unless a later decision has reached it.
-- KEYS   the slot's quota
-- ARGV   version, sequence, limit
-- reply  1 set, 0 too late
local version, sequence = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+) ')
if version and (tonumber(version) > tonumber(ARGV[1]) or tonumber(sequence) > tonumber(ARGV[2])) then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. ARGV[3])
return 1
