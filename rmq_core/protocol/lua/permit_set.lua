-- Lets a slot have so many in flight for a while, unless a later decision has reached it.
-- KEYS   the slot's stats
-- ARGV   generation, sequence, limit
-- reply  1 set, 0 too late
-- include shared/permits.lua
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local known = read_permits(KEYS[1])
if redis.call('HEXISTS', KEYS[1], 'shape') == 0 then
  return 0 -- the topic is gone
elseif known and (known.version > tonumber(ARGV[1]) or known.sequence > tonumber(ARGV[2])) then
  return 0
end
write_permits(KEYS[1], ARGV[1], ARGV[2], ARGV[3], now + PERMITTED_MS)
return 1
