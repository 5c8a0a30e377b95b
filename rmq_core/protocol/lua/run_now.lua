-- Makes waiting messages ready at once: delayed ones due now, retries promoted now.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom
--        wake channel, slot, the place of each (see shared/as_seen.lua), then ids
-- reply  per id: 1 done, 2 in flight, 0 not found, 5 kept back by a hold, 8 not as it was seen
--        error RMQSHAPE <shape>: nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/bodies.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/returning.lua
-- include shared/due.lua
-- include shared/lanes.lua
-- include shared/hints.lua
-- include shared/as_seen.lua

local unfit = misfit(SHAPE)
if unfit then
  return unfit
end
local statuses, is_meant, FIRST = {}, places_seen(ARGV[POLICY + 3]), POLICY + 4
for i = FIRST, #ARGV do
  local id = ARGV[i]
  local status = 0
  local retry = redis.call('ZSCORE', RETRY, id)
  local store = redis.call('ZSCORE', STORE, id)
  if not is_meant(i - FIRST + 1, id, store, retry) then
    status = 8
  elseif retry and retry - HELD_FROM >= 0 then
    status = 5
  elseif retry then
    local failures = tonumber(retry) % SHIFT
    redis.call('ZREM', RETRY, id)
    local score = failures > 0 and retries_left(failures) or fresh_place(redis.call('HGET', PRIORITY, id), id)
    redis.call('ZADD', STORE, score, id)
    note('rescheduled', 'rs', id, score)
    status = 1
  elseif store then
    if TIMED and not GROUP and tonumber(store) >= now + 1 then
      redis.call('ZREM', STORE, id) -- first: a full server refuses a script whose first write adds
      store = timed_place(now)
      redis.call('ZADD', STORE, store, id)
    end
    note('rescheduled', 'ss', id, TIMED and store or plain_of(store))
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
announce_change()
return statuses
