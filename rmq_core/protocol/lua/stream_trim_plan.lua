-- What a trim of a slot would take; reads only.
-- KEYS   the slot's stream, stats, journal, groups' positions
-- ARGV   as of stream_trim, and how many entries are looked at at most
-- reply  {how many by length, how many by age (no more than are looked at), the last of them ('': none, or it was not looked
--        at), entries in the slot, {group, how many entries are ahead of it, …}}
-- include shared/stream.lua
-- include shared/positions.lua
-- include shared/trimming.lua

local unfit = misfit(ARGV[1])
if unfit then
  return unfit
end
local length, most = tonumber(ARGV[2]), tonumber(ARGV[6])
local groups, added, needed, first_needed = in_the_way(ARGV[5] == 'cut')
local left = redis.call('XLEN', STORE)
local over = length > 0 and math.max(0, left - math.max(length, needed)) or 0
local edge = edge_of(tonumber(ARGV[3]), first_needed)
local old = edge and redis.call('XRANGE', STORE, '-', '(' .. edge, 'COUNT', most) or {}
local last = #old > 0 and old[#old][1] or ''
if over > #old then
  local long = redis.call('XRANGE', STORE, '-', '+', 'COUNT', math.min(over, most))
  last = over <= most and long[#long][1] or ''
elseif #old == most then
  last = ''
end
local ahead = {}
for name, at in pairs(groups) do
  ahead[#ahead + 1], ahead[#ahead + 2] = name, added - at.number
end
return {over, #old, last, left, ahead}
