-- Takes messages that wait (in store or retry) out of the queue; for a while they can be restored.
-- KEYS   the slot's keys
-- ARGV   shape, undo_ms (0: gone for good), the place of each (see shared/as_seen.lua), then ids
-- reply  per id: 1 done, 2 in flight, 0 not found, 8 not as it was seen; then the time of removal
--        error RMQSHAPE <shape>: nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/bodies.lua
-- include shared/records.lua
-- include shared/origins.lua
-- include shared/trash.lua
-- include shared/order_marks.lua
-- include shared/priority_places.lua
-- include shared/as_seen.lua

local unfit = misfit(ARGV[1])
if unfit then
  return unfit
end
local undo_ms, is_meant, FIRST = tonumber(ARGV[2]), places_seen(ARGV[3]), 4
trim_trash(undo_ms, TRIMMED_MOST)
local statuses, gone = {}, {}
for i = FIRST, #ARGV do
  local id, status = ARGV[i], 1
  local store, retry = redis.call('ZSCORE', STORE, id), redis.call('ZSCORE', RETRY, id)
  if not is_meant(i - FIRST + 1, id, store, retry) then
    status = 8
  elseif store or retry then
    local origin = store and 's' or 'r'
    redis.call('ZREM', store and STORE or RETRY, id)
    gone[#gone + 1] = id
    if retry and retry - HELD_FROM >= 0 then
      -- Kept back by a hold. Restored, it is met by a take again.
      local failures = retry % SHIFT
      store = failures == 0 and (redis.call('HGET', PRIORITY, id) or now)
      retry = ms_text(now * SHIFT + failures)
      forget_wait(id)
      origin = 'r'
      if store then
        forget_priority(id)
      end
    end
    note('cancelled', origin .. (undo_ms > 0 and 't' or '-'), id, undo_ms > 0 and now or 0)
    if undo_ms > 0 then
      discard(id, store and 's' or 'r', store or retry)
    end
  else
    status = redis.call('ZSCORE', PREPARE, id) and 2 or 0
  end
  statuses[#statuses + 1] = status
end
count('cancelled', #gone)
clear_suspects(gone)
if GROUP then
  local nowhere_else = {}
  for _, id in ipairs(gone) do
    if not redis.call('ZSCORE', PREPARE, id) then
      nowhere_else[#nowhere_else + 1] = id
    end
  end
  finished(nowhere_else)
end
waiting_left(gone)
forget(gone, {PREPARE, DEAD})
write_counts()
statuses[#statuses + 1] = now
return statuses
