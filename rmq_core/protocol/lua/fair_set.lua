-- Has tenants take turns in a slot, or no longer, unless a later definition has said so already.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom
--        wake channel, slot, mark: '<1 or 0> <version> <tenant>=<weight> …'
-- reply  1 done, 0 it is so already, or a later definition says otherwise; error RMQSHAPE <shape>: nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua

local unfit = misfit(SHAPE)
if unfit then
  return unfit
end
local wanted = ARGV[POLICY + 3]
local known, version = string.match(marks[4] or '', '^[012] (%d+)'), string.match(wanted, '^%d (%d+)')
if marks[4] == wanted or tonumber(known or -1) > tonumber(version) and #known <= 15 then
  return 0
end
if string.byte(wanted) == 48 and redis.call('EXISTS', LANES) == 1 then -- 0: see shared/lanes.lua
  wanted = '2' .. string.sub(wanted, 2)
end
-- Removed first: a full server refuses a script whose first write adds.
redis.call('HDEL', STATS, 'fair')
redis.call('HSET', STATS, 'fair', wanted)
marks[4] = wanted
-- include shared/priority_places.lua
-- include shared/due.lua
-- include shared/lanes.lua
-- include shared/hints.lua
if FAIR then
  lanes.regulate()
end
announce_change()
return 1
