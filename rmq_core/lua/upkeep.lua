-- Puts back what timed out and promotes due retries of a slot nobody takes from. Needs no epoch.
-- KEYS   the slot's ten keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at)
--        wake channel, slot, most of each to move
-- reply  {now, next look (-1: none), timed out, promoted}
-- include shared/slot.lua
-- include shared/policy.lua
-- include shared/failing.lua
-- include shared/upkeep.lua

local most = tonumber(ARGV[POLICY + 3])
local expired, promoted = roll_back(most), promote(most)
write_counts()
if expired + promoted > 0 then
  redis.call('PUBLISH', ARGV[POLICY + 1], ARGV[POLICY + 2])
end
return {now, expired + promoted >= most and now or next_look() or -1, expired, promoted}
