-- Messages of one slot that become due in each of the coming steps of time; reads only.
-- KEYS   store, retry
-- ARGV   now (ms), steps, 1 where the store is in order of time, length of a step (ms)
-- reply  a count per step; {} where nothing waits
local now, steps, timed, step_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1', tonumber(ARGV[4])
local STAMP = 1000 -- a score of the retry queue is a time in ms times this, plus the failures so far

local function waiting(queue)
  return redis.call('EXISTS', queue) == 1
end

local in_store, in_retry = timed and waiting(KEYS[1]), waiting(KEYS[2])
if not in_store and not in_retry then
  return {}
end
local counts = {}
for step = 1, steps do
  local low, high = now + (step - 1) * step_ms, now + step * step_ms
  local due = 0
  if in_store then
    due = redis.call('ZCOUNT', KEYS[1], string.format('(%.0f', low), string.format('%.0f', high))
  end
  if in_retry then
    local first, last = low * STAMP + STAMP, high * STAMP + STAMP - 1
    due = due + redis.call('ZCOUNT', KEYS[2], string.format('%.0f', first), string.format('%.0f', last))
  end
  counts[step] = due
end
return counts
