-- Which of many slots must be read again: something happened there, or time made a message due; reads only.
-- KEYS   the stats key of each slot; or several per slot, all of which may tell
-- ARGV   how many keys per slot, then per slot: the counters last seen, joined ('-': never), the time until which that
--        reading holds (-1: for ever)
-- reply  {now, positions (1-based) of the slots to read}
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local positions, width = {}, tonumber(ARGV[1])
for i = 1, #KEYS / width do
  local holds_ms, seen = tonumber(ARGV[i * 2 + 1]), {}
  for at = 1, width do
    seen[at] = table.concat(redis.call('HVALS', KEYS[(i - 1) * width + at]), ' ')
  end
  if table.concat(seen, ' ') ~= ARGV[i * 2] or (holds_ms >= 0 and holds_ms <= now) then
    positions[#positions + 1] = i
  end
end
return {now, positions}
