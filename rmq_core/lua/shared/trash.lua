-- What was cancelled or dropped, kept for a while so that it can be brought back to where it was.
-- `trash` holds id → when it was removed; `trashed` the rest:
-- '<queue: s(tore) r(etry) d(ead)> <score> <priority> <cluster> <length of the failure record> <length of the body> '
-- and those two; '-' for what there is none of. The letter is upper case where a repair has put it here, of a message
-- that was lost: the journal must learn that it was nowhere. The trash too holds one message per id: the last removed.
local TRASH, TRASHED = KEYS[14], KEYS[15]
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

-- Call before the pools forget the id, and not as the first write: a full server refuses one that adds.
local function discard(id, queue, score, cause)
  local priority = redis.call('HGET', PRIORITY, id)
  local failed, body = redis.call('HGET', FAILED, id), redis.call('HGET', BODY, id)
  redis.call('ZADD', TRASH, now, id)
  redis.call('HSET', TRASHED, id, table.concat({
    queue, score, priority or '-', cause or '-', failed and #failed or '-', body and #body or '-',
    (failed or '') .. (body or ''),
  }, ' '))
end

-- Takes a message out of the trash; nil where it is not, or no longer, restorable.
local function take_out(id, undo_ms)
  local removed_ms = tonumber(redis.call('ZSCORE', TRASH, id) or nil)
  if not removed_ms or removed_ms <= now - undo_ms then
    return nil
  end
  local packed = redis.call('HGET', TRASHED, id)
  redis.call('ZREM', TRASH, id)
  redis.call('HDEL', TRASHED, id)
  local queue, score, priority, cause, failed, body, at = string.match(
    packed, '^(%a) (%S+) (%S+) (%S+) (%S+) (%S+) ()'
  )
  local length = tonumber(failed) or 0
  return {
    queue = string.lower(queue),
    lost = queue ~= string.lower(queue),
    score = tonumber(score),
    priority = priority ~= '-' and priority,
    cause = cause ~= '-' and cause,
    failed = failed ~= '-' and string.sub(packed, at, at + length - 1),
    body = body ~= '-' and string.sub(packed, at + length),
  }
end
