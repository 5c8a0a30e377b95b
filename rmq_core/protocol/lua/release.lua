-- Gives deliveries back without counting an attempt.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch ('' in shared mode), shape, by whom
--        wake channel, slot, then groups: id, receipt, delay_ms, original store score ('' when unknown)
-- reply  a status per group: 1 done, 0 stale; error RMQFENCED <epoch>, RMQSHAPE <shape>: nothing was done
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
-- include shared/due.lua
-- include shared/lanes.lua
-- include shared/hints.lua

local refused = fenced()
if refused then
  return refused
end
local FIRST, WIDTH = POLICY + 3, 4
local statuses = {}
release(FIRST, (#ARGV - FIRST + 1) / WIDTH, statuses)
write_counts()
announce_change()
return statuses
