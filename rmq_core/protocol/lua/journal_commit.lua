-- Notes how far a durable reader has come; never backwards.
-- KEYS   the topic's readers: '<reader>' → since when (ms), '<reader> <slot>' → '<id> <running number>'
-- ARGV   reader, then slot, id, running number, …
-- reply  how many positions moved
local time = redis.call('TIME')
-- Removed first: a full server refuses a script whose first write adds, and what is committed is trimmed.
redis.call('HDEL', KEYS[1], '')
redis.call('HSETNX', KEYS[1], ARGV[1], string.format('%.0f', tonumber(time[1]) * 1000))

local function parts(id)
  local ms, sequence = string.match(id or '', '^(%d+)%-?(%d*)')
  return tonumber(ms) or 0, tonumber(sequence) or 0
end

local moved = 0
for i = 2, #ARGV, 3 do
  local field = ARGV[1] .. ' ' .. ARGV[i]
  local known = redis.call('HGET', KEYS[1], field)
  local ms, sequence = parts(ARGV[i + 1])
  local known_ms, known_sequence = parts(known)
  if not known or ms > known_ms or ms == known_ms and sequence >= known_sequence then
    redis.call('HSET', KEYS[1], field, ARGV[i + 1] .. ' ' .. ARGV[i + 2])
    moved = moved + 1
  end
end
return moved
