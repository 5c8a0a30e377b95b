-- Brings cancelled and dropped messages back to where they were: what is due meanwhile is ready, a dead letter is dead.
-- Content, failure record and priority come along. Where an equal id waits, it merges into that.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom
--        wake channel, slot, undo_ms, removed from and until (ms, '' at any time), then ids
-- reply  per id: 1 done, 0 not found, 3 another dead letter has the id: it stays in the trash, 4 another copy of it is
--        there, which was removed at another time, 6 its content is gone: it stays in the trash, 7 its time is over: what
--        waited stays there
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
-- include shared/returning.lua
-- include shared/lapsing.lua
-- include shared/due.lua
-- include shared/lanes.lua
-- include shared/hints.lua

local unfit = misfit(SHAPE)
if unfit then
  return unfit
end
local undo_ms, FIRST = tonumber(ARGV[POLICY + 3]), POLICY + 6
local from_ms, until_ms = tonumber(ARGV[POLICY + 4]), tonumber(ARGV[POLICY + 5])

local function restore_dead(id, message)
  redis.call('HSET', DEAD_RECORD, id, pack_record(
    'd', message.score, message.priority, nil, message.failed, message.body
  ))
  redis.call('ZADD', DEAD, message.score, id)
  enter_cluster(id, message.cause or UNKNOWN, message.score, message.failed or '')
  note('restored', 'td', id, message.score, message.body or '')
end

-- Where a message that waited belongs now: the queue and its score.
local function place_of(id, message)
  if message.queue == 'r' and message.score >= HELD_FROM then
    return 's', place_of_held(id, message.score, message.priority)
  elseif message.queue == 'r' then
    return 'r', message.score
  elseif message.score <= RETRIED_MAX then
    return 's', message.score
  elseif GROUP then
    return 's', entry_place(id)
  elseif TIMED then
    return 's', timed_place(math.max(now, math.floor(message.score)))
  end
  return 's', plain_of(message.score)
end

local function restore_waiting(id, message)
  keep_in_flight(id, redis.call('HGET', BODY, id))
  put_into_pools(id, message)
  local queue, score = place_of(id, message)
  redis.call('ZADD', queue == 'r' and RETRY or STORE, score, id)
  note('restored', 't' .. queue, id, score, message.body or '')
end

local statuses = {}
for i = FIRST, #ARGV do
  local id, status = ARGV[i], 0
  local message, removed_ms = look_into_trash(id, undo_ms)
  if message and from_ms and (removed_ms < from_ms or removed_ms > until_ms) then
    status = 4
  elseif message and message.queue == 'd' and redis.call('ZSCORE', DEAD, id) then
    status = 3
  elseif message and message.queue ~= 'd' and has_lapsed(message.body) then
    status = 7
  elseif message and message.queue ~= 'd' and not waiting(id) and content_is_gone(id, message.body) then
    status = 6
  elseif message then
    status = 1
    take_out(id)
    count('restored', 1)
    if message.queue == 'd' then
      restore_dead(id, message)
    elseif waiting(id) then
      count('merged', 1)
      note('merged', 't-', id, 0)
    else
      if not redis.call('ZSCORE', PREPARE, id) then
        settle_dead(id)
      end
      restore_waiting(id, message)
    end
  end
  statuses[#statuses + 1] = status
end
trim_trash(undo_ms, TRIMMED_MOST)
write_counts()
announce_change()
return statuses
