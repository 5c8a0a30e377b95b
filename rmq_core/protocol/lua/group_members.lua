-- Who has taken from a group in a slot, and who has what is in flight; reads only.
-- KEYS   the slot's keys of the group
-- ARGV   from which of those in flight on (0: the one taken first), most
-- reply  {now, {name, '<seen ms> <taken> <acked> <failed> <acked per 1000 s>', …}, how many were looked at,
--        {name ('': not said), how many it has, when the first of them was taken (ms), …}}
-- include shared/slot.lua
-- include shared/origins.lua

local first, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local found = redis.call('ZRANGE', PREPARE, first, first + most - 1, 'WITHSCORES')
local held, at = {}, {}
for i = 1, #found, 2 do
  local receipt = tonumber(found[i + 1])
  local name = holder_of(found[i], receipt)
  if not at[name] then
    at[name] = #held + 1
    held[#held + 1], held[#held + 2], held[#held + 3] = name, 0, math.floor(receipt / SHIFT)
  end
  held[at[name] + 1] = held[at[name] + 1] + 1
end
return {now, redis.call('HGETALL', MEMBERS), #found / 2, held}
