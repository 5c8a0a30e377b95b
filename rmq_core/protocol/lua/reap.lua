-- Puts back what timed out, promotes due retries, brings back what holds that are over kept, empties the trash of a slot nobody takes from. Needs no epoch.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom
--        wake channel, slot, most of each to move, undo_ms
-- reply  {now, next_due_ms (-1: none), timed out, promoted, erased}; error RMQSHAPE <shape>: nothing was done
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
-- include shared/due.lua
-- include shared/reaping.lua
-- include shared/holds.lua
-- include shared/order.lua
-- include shared/lanes.lua
-- include shared/hints.lua

local unfit = misfit(SHAPE)
if unfit then
  return unfit
end
local most = tonumber(ARGV[POLICY + 3])
local expired, promoted, more_wait = roll_back(most), promote(most)
if HOLDS then
  promoted = promoted + lift_over(most)
  promoted = promoted + (limits.look_after_keys and limits.look_after_keys(most) or 0)
  promoted = promoted + (ORDER and ORDER.skip_missing(most) or 0)
end
local erased = trim_trash(tonumber(ARGV[POLICY + 4]), most)
write_counts()
local next_due_ms = next_due()
if expired + promoted > 0 then
  announce_change()
else
  write_hints(ARGV[POLICY + 2], next_due_ms, head_of(next_due_or_ready()))
end
return {now, (more_wait or expired + promoted >= most) and now or next_due_ms or -1, expired, promoted, erased}
