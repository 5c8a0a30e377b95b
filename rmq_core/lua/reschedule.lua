-- Gives waiting messages another due time (timed topics) or another priority.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at)
--        wake channel, slot, value (due_ms or priority), then ids
-- reply  per id: 1 done, 2 in flight, 0 not found; error RMQPAST <ms>: nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua

local value, FIRST = tonumber(ARGV[POLICY + 3]), POLICY + 4
if TIMED and value <= now then
  return redis.error_reply(string.format('RMQPAST %.0f', now - value))
end
local statuses = {}
for i = FIRST, #ARGV do
  local id = ARGV[i]
  local status = 0
  local retry, store = redis.call('ZSCORE', RETRY, id), tonumber(redis.call('ZSCORE', STORE, id) or nil)
  if retry or store then
    local failures = retry and tonumber(retry) % SHIFT or failures_of(store)
    if TIMED and failures > 0 then
      -- Its failures still count, and the store has no room for both: it waits in retry until then.
      redis.call('ZREM', STORE, id)
      redis.call('ZADD', RETRY, value * SHIFT + failures, id)
      note('rescheduled', retry and 'rr' or 'sr', id, value * SHIFT + failures)
    else
      redis.call('ZREM', RETRY, id)
      redis.call('ZADD', STORE, value, id)
      note('rescheduled', retry and 'rs' or 'ss', id, value)
    end
    count('rescheduled', 1)
    status = 1
  elseif redis.call('ZSCORE', PREPARE, id) then
    status = 2
  end
  statuses[#statuses + 1] = status
end
write_counts()
redis.call('PUBLISH', ARGV[POLICY + 1], ARGV[POLICY + 2])
return statuses
