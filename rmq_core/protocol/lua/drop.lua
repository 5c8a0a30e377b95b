-- Removes dead letters; for a while they can be restored.
-- KEYS   the slot's keys
-- ARGV   shape, undo_ms (0: gone for good), when each died (see shared/as_seen.lua), then ids
-- reply  per id: 1 done, 0 not found, 4 another one has the id by now; then the time of removal
--        error RMQSHAPE <shape>: nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/bodies.lua
-- include shared/records.lua
-- include shared/clusters.lua
-- include shared/trash.lua
-- include shared/as_seen.lua

local unfit = misfit(ARGV[1])
if unfit then
  return unfit
end
local undo_ms, is_meant, FIRST = tonumber(ARGV[2]), deaths_seen(ARGV[3]), 4
trim_trash(undo_ms, TRIMMED_MOST)
local statuses, gone, died = {}, {}, {}
for i = FIRST, #ARGV do
  local died_ms, status = redis.call('ZSCORE', DEAD, ARGV[i]), 0
  if died_ms and not is_meant(i - FIRST + 1, died_ms) then
    status = 4
  elseif died_ms then
    status = 1
    redis.call('ZREM', DEAD, ARGV[i])
    gone[#gone + 1] = ARGV[i]
    died[#gone] = died_ms
    note('dropped', undo_ms > 0 and 'dt' or 'd-', ARGV[i], undo_ms > 0 and now or 0)
  end
  statuses[#statuses + 1] = status
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
