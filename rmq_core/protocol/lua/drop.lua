-- Removes dead letters; for a while they can be restored.
-- KEYS   the slot's keys
-- ARGV   shape, undo_ms (0: gone for good), then ids
-- reply  per id: 1 done, 0 not found; then the time of removal; error RMQSHAPE <shape>: nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/bodies.lua
-- include shared/records.lua
-- include shared/clusters.lua
-- include shared/trash.lua

local unfit = misfit(ARGV[1])
if unfit then
  return unfit
end
local undo_ms, FIRST = tonumber(ARGV[2]), 3
trim_trash(undo_ms, TRIMMED_MOST)
local statuses, gone, died = {}, {}, {}
for i = FIRST, #ARGV do
  local died_ms = redis.call('ZSCORE', DEAD, ARGV[i])
  if died_ms then
    redis.call('ZREM', DEAD, ARGV[i])
    gone[#gone + 1] = ARGV[i]
    died[#gone] = died_ms
    note('dropped', undo_ms > 0 and 'dt' or 'd-', ARGV[i], undo_ms > 0 and now or 0)
  end
  statuses[#statuses + 1] = died_ms and 1 or 0
end
local causes = leave_clusters(gone)
for i, id in ipairs(gone) do
  local packed = take_dead_record(id, died[i], causes[i])
  if undo_ms > 0 then
    discard_packed(id, packed)
  end
end
count('dropped', #gone)
forget(gone, {STORE, RETRY, PREPARE})
write_counts()
statuses[#statuses + 1] = now
return statuses
