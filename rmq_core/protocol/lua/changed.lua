-- Which of many slots must be read again: something happened there, or time made a message due; reads only.
-- KEYS   the stats key of each slot
-- ARGV   per slot: the counters last seen, joined ('-': never), the time until which that reading holds (-1: for ever)
-- reply  {now, positions (1-based) of the slots to read}
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local positions = {}
for i, stats in ipairs(KEYS) do
  local holds_ms = tonumber(ARGV[i * 2])
  if table.concat(redis.call('HVALS', stats), ' ') ~= ARGV[i * 2 - 1] or (holds_ms >= 0 and holds_ms <= now) then
    positions[#positions + 1] = i
  end
end
return {now, positions}
