-- Settles deliveries that succeeded.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch ('' in shared mode), shape, by whom
--        wake channel, slot, then groups: id, receipt
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
-- include shared/holds.lua
-- include shared/order.lua
-- include shared/lanes.lua
-- include shared/hints.lua

local refused = fenced()
if refused then
  return refused
end
-- Of what has waited for them so many come back at once; a take brings the others.
local LIFTED_MOST = 100
local FIRST, WIDTH = POLICY + 3, 2
local statuses = {}
ack(FIRST, (#ARGV - FIRST + 1) / WIDTH, statuses)
if HOLDS then
  lift_over(LIFTED_MOST, 'f')
  if limits.look_after_keys then
    limits.look_after_keys(LIFTED_MOST)
  end
end
write_counts()
if counted.lifted or limits.freed then
  announce_change()
elseif redis.call('EXISTS', STORE) == 1 then
  -- A duplicate that waited for this end can be taken now.
  local ids = {}
  for i, status in ipairs(statuses) do
    if status == 1 then
      ids[#ids + 1] = ARGV[FIRST + (i - 1) * WIDTH]
    end
  end
  for _, waits in ipairs(#ids > 0 and redis.call('ZMSCORE', STORE, unpack(ids)) or {}) do
    if waits then
      announce_change()
      break
    end
  end
end
return statuses
