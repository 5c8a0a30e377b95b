-- The first ready messages of a slot, for whoever chooses between slots; reads only.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom
--        most
-- reply  {score, …} in the order they would be taken, without those that wait for their own earlier delivery
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/bodies.lua
-- include shared/origins.lua
-- include shared/take.lua

local most = tonumber(ARGV[POLICY + 1])
local in_flight = redis.call('ZCARD', PREPARE)
local looked_at = most + math.min(in_flight, BLOCKED_MOST)
local found
if TIMED then
  found = range('ZRANGEBYSCORE', '-inf', '(' .. ms_text(now + 1), looked_at)
else
  found = range('ZREVRANGEBYSCORE', '+inf', '-inf', looked_at)
end
found = unblocked(found, in_flight, most)
local scores = {}
for i = 2, #found, 2 do
  scores[#scores + 1] = found[i]
end
return scores
