-- Puts back what timed out, promotes due retries, empties the trash of a slot nobody takes from. Needs no epoch.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at)
--        wake channel, slot, most of each to move, undo_ms
-- reply  {now, next look (-1: none), timed out, promoted, erased}
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/clusters.lua
-- include shared/failing.lua
-- include shared/looking.lua
-- include shared/upkeep.lua
-- include shared/trash.lua

local most = tonumber(ARGV[POLICY + 3])
local expired, promoted = roll_back(most), promote(most)
local erased = trim_trash(tonumber(ARGV[POLICY + 4]), most)
write_counts()
if expired + promoted > 0 then
  redis.call('PUBLISH', ARGV[POLICY + 1], ARGV[POLICY + 2])
end
return {now, expired + promoted >= most and now or next_look() or -1, expired, promoted, erased}
