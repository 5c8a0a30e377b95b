-- Hands a slot's new owner what the one before it left in flight, in the order it was taken. Each counts as failed.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch
--        most
-- reply  like cycle.lua's: {now, next look (-1: none), {}, {id, store score, …}, bodies or {}}
--        error RMQFENCED <epoch>: nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/clusters.lua
-- include shared/failing.lua
-- include shared/looking.lua
-- include shared/upkeep.lua

local refused = fenced()
if refused then
  return refused
end
-- The fingerprint is what fingerprints.fingerprint makes of the rest.
local FRAGMENT = '"fingerprint":"6a306cb3c8560a5c",'
  .. '"error":"OwnerLost","message":"its worker lost the slot before settling it","worker":""}'
local left = redis.call('ZRANGE', PREPARE, 0, tonumber(ARGV[POLICY + 1]) - 1, 'WITHSCORES')
local taken, ids = {}, {}
for i = 1, #left, 2 do
  local id, failures = left[i], tonumber(left[i + 1]) % SHIFT + 1
  count('expired', 1)
  note('expired', 'pp', id, left[i + 1])
  redis.call('ZREM', PREPARE, id)
  if failures > MAX_RETRIES or redis.call('ZSCORE', STORE, id) then
    fail(id, failures, 0, FRAGMENT)
  else
    record_failure(id, FRAGMENT)
    local receipt = (now + #ids) * SHIFT + failures
    redis.call('ZADD', PREPARE, receipt, id)
    note('retried', 'ps', id, told(retries_left(failures), failures, FRAGMENT))
    note('taken', 'sp', id, receipt)
    ids[#ids + 1] = id
    taken[#taken + 1] = id
    taken[#taken + 1] = retries_left(failures)
  end
end
count('retried', #ids)
count('taken', #ids)
write_counts()
local bodies = {}
if #ids > 0 and redis.call('EXISTS', BODY) == 1 then
  bodies = redis.call('HMGET', BODY, unpack(ids))
end
return {now, next_look() or -1, {}, taken, bodies, micros % 1000}
