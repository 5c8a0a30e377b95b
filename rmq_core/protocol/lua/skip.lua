-- Goes on with the versions of a key without those that are missing.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom, …
--        wake channel, slot, key, version to go on with ('': the lowest that waits), which one must be the next by now
--        ('': any)
-- reply  {1 done, 0 nothing waits, 2 another one is the next by now; the version that is the next}
--        error RMQSHAPE <shape>: nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/bodies.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/returning.lua
-- include shared/due.lua
-- include shared/lanes.lua
-- include shared/hints.lua
local wait_behind -- nothing fails here
-- include shared/holds.lua
-- include shared/order.lua

local unfit = misfit(SHAPE)
if unfit then
  return unfit
end
local key, wanted, next_now = ARGV[POLICY + 3], tonumber(ARGV[POLICY + 4]), tonumber(ARGV[POLICY + 5])
local last = ORDER.last_handled(key)
local coming = (last or 0) + 1
if next_now and next_now ~= coming then
  return {2, coming}
end
wanted = wanted or ORDER.lowest_waiting(key)
if not wanted then
  return {0, coming}
end
ORDER.skip_to(key, wanted)
write_counts()
announce_change()
return {1, wanted}
