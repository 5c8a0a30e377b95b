-- The first ready messages of a slot, for whoever chooses between slots; reads only.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom
--        most
-- reply  {lone, score, …}   lone: 1 where the first may have to be taken alone
--        scores in the order they would be taken, without those that wait for their own earlier delivery, up to what must
--        be taken alone
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
local free, suspects_next = before_suspects(found, false)
local lone = suspects_next and #free == 0
if lone then
  free = {found[1], found[2]}
end
local scores = {0}
for i = 2, #free, 2 do
  scores[#scores + 1] = free[i]
end
-- What whoever takes puts back before.
if not suspects_next then
  local due = redis.call('ZRANGEBYSCORE', RETRY, '-inf', ms_text(now * SHIFT + SHIFT - 1), 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #due, 2 do
    local failures = tonumber(due[i + 1]) % SHIFT
    local priority = failures == 0 and redis.call('HGET', PRIORITY, due[i])
    scores[#scores + 1] = failures > 0 and ms_text(retries_left(failures)) or TIMED and ms_text(now) or priority or ms_text(RETRIED_MAX + 1)
  end
end
if lone or in_flight > 0 and redis.call('ZCOUNT', PREPARE, '-inf', ms_text((now - TIMEOUT_MS) * SHIFT + SHIFT - 1)) > 0 then
  scores[1] = 1
end
return scores
