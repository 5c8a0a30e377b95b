-- What a trim of a slot would take; reads only.
-- KEYS   the slot's stream, stats, journal, groups' positions
-- ARGV   as of stream_trim, and how many entries are looked at at most
-- reply  {how many by length, how many by age, as far as was looked, 1 where that was to the end, the last of them ('': none,
--        or it was not looked at), entries in the slot, {group, how many entries are ahead of it, …}}
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

-- How many of the oldest entries lie before `to`, no more than `limit`; the last of them; and whether that are all. They come
-- with all they hold, so few at a time.
local function oldest(to, limit)
  local AT_ONCE, BYTES = 20, 4194304
  local n, last, bytes = 0, '', 0
  while n < limit and bytes < BYTES do
    local asked = math.min(AT_ONCE, limit - n)
    local some = redis.call('XRANGE', STORE, n == 0 and '-' or '(' .. last, to, 'COUNT', asked)
    for _, each in ipairs(some) do
      n, last = n + 1, each[1]
      for _, part in ipairs(each[2]) do
        bytes = bytes + #part
      end
    end
    if #some < asked then
      return n, last, true
    end
  end
  return n, last, false
end

local old, last, all = 0, '', true
if edge then
  old, last, all = oldest('(' .. edge, most)
end
if over > old then
  local long = 0
  long, last = oldest('+', math.min(over, most))
  if long < over then
    last = ''
  end
elseif not all then
  last = ''
end
local ahead = {}
for name, at in pairs(groups) do
  ahead[#ahead + 1], ahead[#ahead + 2] = name, at.cursor and added - at.number or added
end
return {over, old, all and 1 or 0, last, left, ahead}
