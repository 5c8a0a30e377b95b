-- Removes dead letters; for a while they can be restored.
-- KEYS   the slot's keys
-- ARGV   undo_ms (0: gone for good), then ids
-- reply  per id: 1 done, 0 not found
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/clusters.lua
-- include shared/trash.lua

local undo_ms, FIRST = tonumber(ARGV[1]), 2
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
if undo_ms > 0 then
  for i, id in ipairs(gone) do
    discard(id, 'd', died[i], causes[i])
  end
end
count('dropped', #gone)
forget(gone, {STORE, RETRY, PREPARE})
write_counts()
return statuses
