-- One turn of a consumer: settle what is finished, put back what timed out, take what is ready.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch ('' in shared mode)
--        limit (0 takes nothing), n acks, n nacks, n releases, then the groups of shared/settle.lua
-- reply  {now, next look (-1: none), statuses of the settled (1 done, 0 stale), {id, store score, …}, bodies or {},
--        microseconds of `now` beyond the millisecond}
--        error RMQFENCED <epoch>: nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/clusters.lua
-- include shared/failing.lua
-- include shared/settle.lua
-- include shared/looking.lua
-- include shared/upkeep.lua
-- include shared/take.lua

local refused = fenced()
if refused then
  return refused
end
local UPKEEP_MOST = 100
local limit = tonumber(ARGV[POLICY + 1])
local statuses = {}
local at = ack(POLICY + 5, tonumber(ARGV[POLICY + 2]), statuses)
at = nack(at, tonumber(ARGV[POLICY + 3]), statuses)
release(at, tonumber(ARGV[POLICY + 4]), statuses)
local busy = roll_back(UPKEEP_MOST) == UPKEEP_MOST
busy = promote(UPKEEP_MOST) == UPKEEP_MOST or busy
local taken, bodies = take(limit)
write_counts()
local look = now
if not busy and (limit == 0 or #taken < limit * 2) then
  look = next_look() or -1
end
return {now, look, statuses, taken, bodies, micros % 1000}
