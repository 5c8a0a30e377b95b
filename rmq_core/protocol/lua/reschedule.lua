-- Gives waiting messages another due time (timed topics) or another priority; they come behind their equals.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom
--        wake channel, slot, value (due_ms or priority), the place of each (see
--        shared/as_seen.lua), then ids
-- reply  per id: 1 done, 2 in flight, 0 not found, 7 it expires before it would be due: it stays where it is,
--        8 not as it was seen
--        error RMQPAST <ms>, RMQSHAPE <shape>: nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/bodies.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/returning.lua
-- include shared/lapsing.lua
-- include shared/stepping.lua
-- include shared/due.lua
-- include shared/lanes.lua
-- include shared/hints.lua
-- include shared/as_seen.lua

local unfit = misfit(SHAPE)
if unfit then
  return unfit
end
local value, is_meant, FIRST = tonumber(ARGV[POLICY + 3]), places_seen(ARGV[POLICY + 4]), POLICY + 5
local RETRY_MOST_MS = HELD_FROM / SHIFT - 1
if TIMED and value <= now - PRESENT_MS then
  return redis.error_reply(string.format('RMQPAST %.0f', now - value))
end
local due_ms = TIMED and math.max(value, now) or now
local statuses = {}
for i = FIRST, #ARGV do
  local id = ARGV[i]
  local status = 0
  local retry, store = redis.call('ZSCORE', RETRY, id), tonumber(redis.call('ZSCORE', STORE, id) or nil)
  if not is_meant(i - FIRST + 1, id, store, retry) then
    status = 8
  elseif (retry or store) and has_lapsed(redis.call('HGET', BODY, id), due_ms) then
    status = 7
  elseif retry or store then
    local failures = retry and tonumber(retry) % SHIFT or failures_of(store)
    if retry and retry - HELD_FROM >= 0 and failures == 0 then
      -- Kept back by a hold: this is its place for later.
      redis.call('HSET', PRIORITY, id, TIMED and timed_place(value) or priority_place(value, number_places(1) + 1))
      note('rescheduled', 'rr', id, tonumber(retry))
    elseif TIMED and (failures > 0 or GROUP) then
      -- Its failures still count, and the store has no room for both: it waits in retry until then. So does an entry, whose
      -- place there is not a time.
      redis.call('ZREM', STORE, id)
      local due = math.min(value, RETRY_MOST_MS) * SHIFT + failures
      limits.stepped.note_given(math.floor(due / SHIFT))
      redis.call('ZADD', RETRY, due, id)
      note('rescheduled', retry and 'rr' or 'sr', id, due)
    else
      local score = TIMED and timed_place(value) or priority_place(value, number_places(1) + 1)
      redis.call('ZREM', RETRY, id)
      redis.call('ZADD', STORE, score, id)
      note('rescheduled', retry and 'rs' or 'ss', id, score)
    end
    count('rescheduled', 1)
    status = 1
  elseif redis.call('ZSCORE', PREPARE, id) then
    status = 2
  end
  statuses[#statuses + 1] = status
end
write_counts()
announce_change()
return statuses
