-- Brings dead letters back with every retry: behind those of their original priority, or due now. Where an equal id
-- waits, that one is left as it is: the dead letter goes to the trash, from where it can be restored later.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom
--        wake channel, slot, then ids
-- reply  per id: 1 done, 0 not found; error RMQSHAPE <shape>: nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/bodies.lua
-- include shared/records.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/clusters.lua
-- include shared/trash.lua
-- include shared/returning.lua
-- include shared/due.lua
-- include shared/hints.lua

local unfit = misfit(SHAPE)
if unfit then
  return unfit
end
local statuses, gone, FIRST = {}, {}, POLICY + 3
for i = FIRST, #ARGV do
  local id = ARGV[i]
  local died_ms = redis.call('ZSCORE', DEAD, id)
  if died_ms then
    redis.call('ZREM', DEAD, id)
    local packed = redis.call('HGET', DEAD_RECORD, id)
    gone[#gone + 1] = id
    if waiting(id) then
      note('requeued', 'dd', id, died_ms)
      count('merged', 1)
      note('merged', 'dt', id, now)
      trash_dead(id, died_ms, leave_clusters({id})[1])
    elseif packed then
      local record = unpack_record(packed)
      keep_in_flight(id, redis.call('HGET', BODY, id))
      put_into_pools(id, record)
      redis.call('HDEL', DEAD_RECORD, id)
      back_to_store(id, fresh_place(record.priority, id), 'requeued', 'd')
    else
      back_to_store(id, fresh_place(redis.call('HGET', PRIORITY, id), id), 'requeued', 'd')
    end
  end
  statuses[#statuses + 1] = died_ms and 1 or 0
end
count('requeued', #gone)
leave_clusters(gone)
write_counts()
announce_change()
return statuses
