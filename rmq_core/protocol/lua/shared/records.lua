-- A message packed into one text, as the trash and the dead letters keep it:
-- '<queue: s(tore) r(etry) d(ead)> <score> <priority> <cluster> <length of the failure record> <length of the body> '
-- and those two; '-' for what there is none of. Repairs of older releases wrote the letter in upper case.

local function pack_record(queue, score, priority, cause, failed, body)
  return table.concat({
    queue, score, priority or '-', cause or '-', failed and #failed or '-', body and #body or '-',
    (failed or '') .. (body or ''),
  }, ' ')
end

local function unpack_record(packed)
  local queue, score, priority, cause, failed, body, at = string.match(
    packed, '^(%a) (%S+) (%S+) (%S+) (%S+) (%S+) ()'
  )
  local length = tonumber(failed) or 0
  return {
    queue = string.lower(queue),
    score = tonumber(score),
    priority = priority ~= '-' and priority,
    cause = cause ~= '-' and cause,
    failed = failed ~= '-' and string.sub(packed, at, at + length - 1),
    body = body ~= '-' and string.sub(packed, at + length),
    keeps_failed = failed == '?', -- as it is: in what repair.lua is told
    keeps_body = body == '?',
  }
end

-- What the pools know of an id, packed.
local function packed_from_pools(id, queue, score, cause)
  return pack_record(
    queue, score, redis.call('HGET', PRIORITY, id), cause, redis.call('HGET', FAILED, id),
    redis.call('HGET', BODY, id) or GROUP and entry_body(id)
  )
end

-- Whether nothing could be handed out of what is to wait again: an entry that was deleted, or trimmed, while it was under
-- way, so that its record has no content.
local function content_is_gone(id, body)
  return GROUP and not body and not entry_of(id)
end

-- Gives a dead letter of an older release a record of its own, before a message of the same id uses the pools.
local function settle_dead(id)
  local died_ms = redis.call('ZSCORE', DEAD, id)
  if died_ms and redis.call('HEXISTS', DEAD_RECORD, id) == 0 then
    redis.call('HSET', DEAD_RECORD, id, packed_from_pools(id, 'd', died_ms, nil))
    redis.call('HDEL', FAILED, id)
    redis.call('HDEL', BODY, id)
    redis.call('HDEL', PRIORITY, id)
  end
end

-- The pools of the copy that comes to wait hold what its record says. Needs shared/bodies.lua.
local function put_into_pools(id, record)
  if record.body then
    redis.call('HSET', BODY, id, record.body)
  else
    redis.call('HDEL', BODY, id)
  end
  if record.failed then
    redis.call('HSETNX', FAILED, id, record.failed)
  end
  if record.priority then
    remember_priorities({id, record.priority})
  end
end

-- What the journal tells of a failure beside the score: how many, and what a person can tell it by.
local TEXT_MOST = 200

local function described(score, failures, fragment)
  if not JOURNALING then
    return nil
  end
  -- Inside JSON's strings no quote follows a comma.
  local text, worker = string.match(fragment, '"message":"(.-)","worker":"(.-)"')
  return {
    score, failures, string.match(fragment, '^"fingerprint":"(%x+)"') or '',
    string.match(fragment, '"error":"(.-)","message":') or '', string.sub(text or '', 1, TEXT_MOST),
    changed_by and '' or worker or '', -- a worker's name stands beside the entry, once
  }
end
