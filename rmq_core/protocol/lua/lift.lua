-- Lifts a hold: what it kept back goes on from its place, so many at a time. Call again while some are left: until then
-- whoever takes from the slot brings them back, too.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom
--        wake channel, slot, since when it has been there (ms), most to bring back
-- reply  {1 it was there, 0 it was not, how many came back, 1 where some may be left}
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

local unfit = misfit(SHAPE)
if unfit then
  return unfit
end
local since_ms, most = tonumber(ARGV[POLICY + 3]), tonumber(ARGV[POLICY + 4])
local lifted
for _, hold in ipairs(HOLDS or {}) do
  if hold.since_ms == since_ms and hold.kind ~= 'o' and hold.kind ~= 'k' then -- what waits for others goes on by itself
    lifted = hold
  end
end
if not lifted then
  return {0, 0, 0}
end
if not is_over(lifted) then
  lifted.kind = lifted.kind == 'f' and 'b' or lifted.kind -- it waits for nothing any more
  lifted.until_ms = now
  write_holds(HOLDS)
end
local moved = lift_over(most)
write_counts()
announce_change()
return {1, moved, moved == most and 1 or 0}
