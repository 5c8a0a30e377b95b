-- Brings dead letters back with every retry: behind those of their original priority, or due now. Where an equal id
-- waits, that one is left as it is: the dead letter goes to the trash, from where it can be restored later.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom
--        wake channel, slot, when each died (see shared/as_seen.lua), then ids
-- reply  per id: 1 done, 0 not found, 4 another one has the id by now, 6 its content is gone: it stays
--        dead, 7 its time is over: it stays dead
--        error RMQSHAPE <shape>: nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/bodies.lua
-- include shared/records.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/clusters.lua
-- include shared/trash.lua
-- include shared/as_seen.lua
-- include shared/returning.lua
-- include shared/lapsing.lua
-- include shared/due.lua
-- include shared/lanes.lua
-- include shared/hints.lua

local unfit = misfit(SHAPE)
if unfit then
  return unfit
end
-- Of a dead letter of an older release, the pools have it.
local function body_of(id, record)
  if record then
    return record.body
  end
  return redis.call('HGET', BODY, id)
end

local statuses, gone, is_meant, FIRST = {}, {}, deaths_seen(ARGV[POLICY + 3]), POLICY + 4
for i = FIRST, #ARGV do
  local id, status = ARGV[i], 0
  local died_ms, packed = redis.call('ZSCORE', DEAD, id), redis.call('HGET', DEAD_RECORD, id)
  local record = packed and unpack_record(packed)
  local body = died_ms and body_of(id, record)
  if died_ms and not is_meant(i - FIRST + 1, died_ms) then
    status = 4
  elseif has_lapsed(body) then
    status = 7
  elseif died_ms and not waiting(id) and content_is_gone(id, body) then
    status = 6
  elseif died_ms then
    status = 1
    redis.call('ZREM', DEAD, id)
    gone[#gone + 1] = id
    if waiting(id) then
      note('requeued', 'dd', id, died_ms)
      count('merged', 1)
      note('merged', 'dt', id, now)
      trash_dead(id, died_ms, leave_clusters({id})[1])
    elseif record then
      keep_in_flight(id, redis.call('HGET', BODY, id))
      put_into_pools(id, record)
      redis.call('HDEL', DEAD_RECORD, id)
      back_to_store(id, fresh_place(record.priority, id), 'requeued', 'd')
    else
      back_to_store(id, fresh_place(redis.call('HGET', PRIORITY, id), id), 'requeued', 'd')
    end
  end
  statuses[#statuses + 1] = status
end
count('requeued', #gone)
leave_clusters(gone)
write_counts()
announce_change()
return statuses
