-- What was cancelled or dropped, kept for a while so that it can be brought back to where it was.
-- `trash` holds id → when it was removed; `trashed` the message, packed as in shared/records.lua. The trash too holds
-- one message per id: the last removed.
local TRIMMED_MOST = 100

-- What cannot be restored any more goes for good; at most `most`.
local function trim_trash(undo_ms, most)
  local old = redis.call('ZRANGEBYSCORE', TRASH, '-inf', string.format('%.0f', now - undo_ms), 'LIMIT', 0, most)
  if #old > 0 then
    redis.call('ZREM', TRASH, unpack(old))
    redis.call('HDEL', TRASHED, unpack(old))
    count('erased', #old)
    for _, id in ipairs(old) do
      note('erased', 't-', id, 0)
    end
  end
  return #old
end

local function discard_packed(id, packed)
  redis.call('ZADD', TRASH, now, id)
  redis.call('HSET', TRASHED, id, packed)
end

-- A message that waited. Call before the pools forget the id, and not as the first write: a full server refuses one
-- that adds.
local function discard(id, queue, score)
  discard_packed(id, packed_from_pools(id, queue, score, nil))
end

-- Takes a dead letter's record away, with the cluster it died of; from the pools where an older release left it there.
local function take_dead_record(id, died_ms, cause)
  local packed = redis.call('HGET', DEAD_RECORD, id)
  if not packed then
    return packed_from_pools(id, 'd', died_ms, cause)
  end
  redis.call('HDEL', DEAD_RECORD, id)
  local record = unpack_record(packed)
  return pack_record('d', died_ms, record.priority, cause, record.failed, record.body)
end

local function trash_dead(id, died_ms, cause)
  discard_packed(id, take_dead_record(id, died_ms, cause))
end

-- A message in the trash, and when it was removed; nil where it is not, or no longer, restorable.
local function look_into_trash(id, undo_ms)
  local removed_ms = tonumber(redis.call('ZSCORE', TRASH, id) or nil)
  if not removed_ms or removed_ms <= now - undo_ms then
    return nil
  end
  return unpack_record(redis.call('HGET', TRASHED, id)), removed_ms
end

local function take_out(id)
  redis.call('ZREM', TRASH, id)
  redis.call('HDEL', TRASHED, id)
end
