-- Puts back what a slot's former owner left in flight, each to its place; what it had taken alone has failed.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch ('' in shared mode), shape, by whom
--        wake channel, slot, most
-- reply  how many were put back; error RMQFENCED <epoch>, RMQSHAPE <shape>: nothing was done
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
-- include shared/holds.lua
-- include shared/reaping.lua
-- include shared/lanes.lua
-- include shared/hints.lua

local refused = fenced()
if refused then
  return refused
end
-- The fingerprint is what fingerprints.fingerprint makes of the rest.
local FRAGMENT = '"fingerprint":"6a306cb3c8560a5c",'
  .. '"error":"OwnerLost","message":"its worker lost the slot before settling it","worker":""}'
local left = redis.call('ZRANGE', PREPARE, 0, tonumber(ARGV[POLICY + 3]) - 1, 'WITHSCORES')
for i = 1, #left, 2 do
  time_out(left[i], tonumber(left[i + 1]), FRAGMENT)
end
forget_origins()
write_counts()
write_hints(ARGV[POLICY + 2], next_due(), head_of(next_due_or_ready()))
return #left / 2
