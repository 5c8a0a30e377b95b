-- Gives deliveries more time: their visibility timeout starts anew, or ends for_ms from now. Receipts change.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch ('' in shared mode)
--        for_ms (-1: one visibility timeout), then groups: id, receipt
-- reply  the new receipt per group, 0 when stale; error RMQFENCED <epoch>: nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/clusters.lua
-- include shared/failing.lua
-- include shared/settle.lua

local refused = fenced()
if refused then
  return refused
end
local for_ms = tonumber(ARGV[POLICY + 1])
local FIRST = POLICY + 2
local n = (#ARGV - FIRST + 1) / 2
local ids, valid = receipts(FIRST, n, 2, {})
local replies = {}
for i = 1, n do
  replies[i] = 0
end
local base_ms = for_ms < 0 and now or now + for_ms - TIMEOUT_MS
local step_ms = EPOCH ~= '' and 1 or 0 -- see shared/take.lua
for place, i in ipairs(valid) do
  local old = tonumber(ARGV[FIRST + i * 2 - 1])
  local receipt = (base_ms + (place - 1) * step_ms) * SHIFT + old % SHIFT
  -- Removed first: a server out of memory refuses a script whose first write adds.
  redis.call('ZREM', PREPARE, ids[i])
  redis.call('ZADD', PREPARE, receipt, ids[i])
  replies[i] = receipt
  note('extended', 'pp', ids[i], receipt)
end
count('extended', #valid)
write_counts()
return replies
