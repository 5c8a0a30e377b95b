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
local found
if TIMED then
  found = unblocked('ZRANGEBYSCORE', '-inf', '(' .. ms_text(now + 1), most, in_flight)
else
  found = unblocked('ZREVRANGEBYSCORE', '+inf', '-inf', most, in_flight)
end
local scores = {}
for i = 2, #found, 2 do
  scores[#scores + 1] = found[i]
end
return scores
