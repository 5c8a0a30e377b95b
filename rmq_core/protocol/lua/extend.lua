-- Gives deliveries more time: their visibility timeout starts again, or ends for_ms from now. Receipts change.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch ('' in shared mode), shape, by whom
--        wake channel, slot, for_ms (-1: one visibility timeout), how (several|alone: if they time out, they have
--        failed, whatever else was in flight with them), then groups: id, receipt
-- reply  the new receipt per group, 0 when stale; error RMQFENCED <epoch>, RMQSHAPE <shape>: nothing was done
-- include shared/slot.lua
-- inner function
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/bodies.lua
-- include shared/records.lua
-- include shared/origins.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/trash.lua
-- include shared/clusters.lua
-- include shared/returning.lua
-- include shared/failing.lua
-- include shared/settle.lua
-- include shared/stepping.lua
-- include shared/due.lua
-- include shared/lanes.lua
-- include shared/hints.lua

local refused = fenced()
if refused then
  return refused
end
local for_ms, alone = tonumber(ARGV[POLICY + 3]), ARGV[POLICY + 4] == 'alone'
local FIRST = POLICY + 5
local n = (#ARGV - FIRST + 1) / 2
local ids, valid = receipts(FIRST, n, 2, {})
local replies = {}
for i = 1, n do
  replies[i] = 0
end
local base_ms = for_ms < 0 and now or now + for_ms - TIMEOUT_MS
if alone and n > 0 then
  -- A receipt of the same moment would still be one of those that were taken together.
  base_ms = math.max(base_ms, math.floor(tonumber(ARGV[FIRST + 1]) / SHIFT) + 1)
end
local step_ms = EPOCH ~= '' and 1 or 0 -- see shared/take.lua
local origins, holder = {}, ''
if #valid > 0 and marks[6] then
  limits.stepped.note(limits.stepped.since() or now)
end
for place, i in ipairs(valid) do
  local old = tonumber(ARGV[FIRST + i * 2 - 1])
  local receipt = (base_ms + (place - 1) * step_ms) * SHIFT + old % SHIFT
  if GROUP then
    local its = member ~= '' and member or holder_of(ids[i], old)
    if its ~= holder then
      origins[#origins + 1], origins[#origins + 2], holder = '', its, its
    end
  end
  origins[#origins + 1], origins[#origins + 2] = ids[i], not alone and origin_of(ids[i], old) or ''
  -- Removed first: a server out of memory refuses a script whose first write adds.
  redis.call('ZREM', PREPARE, ids[i])
  redis.call('ZADD', PREPARE, receipt, ids[i])
  replies[i] = receipt
  note('extended', 'pp', ids[i], receipt)
end
if #valid > 0 and (not alone or holder ~= '') then
  note_origins(base_ms, origins, #valid)
end
if base_ms > now and #valid > 0 then
  limits.stepped.note_extended(base_ms, base_ms + #valid)
end
count('extended', #valid)
write_counts()
if base_ms < now then
  announce_change() -- they run out of time sooner than whoever sleeps believes
end
return replies
