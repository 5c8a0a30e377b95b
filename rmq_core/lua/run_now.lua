-- Makes waiting messages ready at once: delayed ones due now, retries promoted now.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at)
--        wake channel, slot, then ids
-- reply  per id: 1 done, 2 in flight, 0 not found
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua

local statuses, FIRST = {}, POLICY + 3
for i = FIRST, #ARGV do
  local id = ARGV[i]
  local status = 0
  local retry = redis.call('ZSCORE', RETRY, id)
  local store = redis.call('ZSCORE', STORE, id)
  if retry then
    local failures = tonumber(retry) % SHIFT
    redis.call('ZREM', RETRY, id)
    local score = failures > 0 and retries_left(failures) or fresh_score(id)
    redis.call('ZADD', STORE, score, id)
    note('rescheduled', 'rs', id, score)
    status = 1
  elseif store then
    if TIMED and tonumber(store) > now then
      redis.call('ZADD', STORE, now, id)
      store = now
    end
    note('rescheduled', 'ss', id, store)
    status = 1
  elseif redis.call('ZSCORE', PREPARE, id) then
    status = 2
  end
  if status == 1 then
    count('rescheduled', 1)
  end
  statuses[#statuses + 1] = status
end
write_counts()
redis.call('PUBLISH', ARGV[POLICY + 1], ARGV[POLICY + 2])
return statuses
