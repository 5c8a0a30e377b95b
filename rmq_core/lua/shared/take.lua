-- Moves up to `limit` ready messages from store to prepare.

-- Quarter octaves: bucket b holds latenesses around 2^(b/4) - 1 ms, so a percentile is exact to 19 %.
local BUCKETS_PER_NAT = 4 / math.log(2)
-- The logarithm of a power of two may come out just below the whole number.
local BUCKET_ROUNDING = 1e-9
local BLOCKED_MOST = 1000

local function range(command, from, to, most)
  if most <= 0 then
    return {}
  end
  return redis.call(command, STORE, from, to, 'WITHSCORES', 'LIMIT', 0, most)
end

-- The first `limit` that are not in flight: a duplicate waits until the earlier delivery is settled or timed out.
local function unblocked(candidates, in_flight, limit)
  if in_flight == 0 or #candidates == 0 then
    return candidates
  end
  local ids = {}
  for i = 1, #candidates, 2 do
    ids[#ids + 1] = candidates[i]
  end
  local blocked, free = redis.call('ZMSCORE', PREPARE, unpack(ids)), {}
  for i = 1, #ids do
    if not blocked[i] and #free < limit * 2 then
      free[#free + 1] = ids[i]
      free[#free + 1] = candidates[i * 2]
    end
  end
  return free
end

-- Retried messages of a priority topic rank below every fresh one, so a tenth of each take is theirs.
-- Also says whether the result is the top of the store, whole.
local function by_priority(limit, in_flight, most)
  if redis.call('ZCOUNT', STORE, '-inf', RETRIED_MAX) == 0 then
    return unblocked(range('ZREVRANGEBYSCORE', '+inf', '-inf', most), in_flight, limit), in_flight == 0
  end
  local fresh = unblocked(range('ZREVRANGEBYSCORE', '+inf', '(' .. RETRIED_MAX, most), in_flight, limit)
  local retried = unblocked(range('ZRANGEBYSCORE', '-inf', RETRIED_MAX, most), in_flight, limit)
  local share = math.floor(limit / 10)
  if share == 0 and micros % 10 < limit then
    share = 1
  end
  local n_retried = math.min(#retried / 2, math.max(share, limit - #fresh / 2))
  local taken = {}
  for i = 1, math.min(#fresh / 2, limit - n_retried) * 2 do
    taken[i] = fresh[i]
  end
  for i = 1, n_retried * 2 do
    taken[#taken + 1] = retried[i]
  end
  return taken, false
end

local function note_lateness(late)
  for bucket, n in pairs(late) do
    redis.call('HINCRBY', LATENESS, bucket, n)
  end
end

-- A small hash is a list that every HSET walks from end to end; one long value turns it into a table at once.
-- `forget` removes that field with the last message.
local TABLE_FIELD, TABLE_VALUE = '', string.rep(' ', 65)

local function remember_priorities(priorities)
  if redis.call('EXISTS', PRIORITY) == 0 then
    redis.call('HSET', PRIORITY, TABLE_FIELD, TABLE_VALUE)
  end
  redis.call('HSET', PRIORITY, unpack(priorities))
end

-- Returns {id, store score, …} and the bodies in the same order ({} when no message of the slot has one).
local function take(limit)
  if limit == 0 then
    return {}, {}
  end
  local in_flight = redis.call('ZCARD', PREPARE)
  -- With nothing in flight `most` is `limit`, so a range needs no cutting.
  local most = limit + math.min(in_flight, BLOCKED_MOST)
  local taken, is_top, is_bottom
  if TIMED then
    taken, is_bottom = unblocked(range('ZRANGEBYSCORE', '-inf', now, most), in_flight, limit), in_flight == 0
  else
    taken, is_top = by_priority(limit, in_flight, most)
  end
  if #taken == 0 then
    return taken, {}
  end
  local ids, prepared, priorities, late = {}, {}, {}, {}
  -- Numbers become text one by one on their way to Redis; most receipts of a take are the same. But those of an owner
  -- differ by a millisecond each: so the prepare queue keeps their order for the owner after it.
  local fresh_receipt = string.format('%.0f', now * SHIFT)
  local owned = EPOCH ~= ''
  local n = 0
  for i = 1, #taken, 2 do
    n = n + 1
    local id, score = taken[i], tonumber(taken[i + 1])
    ids[n] = id
    prepared[i + 1] = id
    if score <= RETRIED_MAX then
      prepared[i] = (owned and now + n - 1 or now) * SHIFT + failures_of(score)
    else
      prepared[i] = owned and string.format('%d000', now + n - 1) or fresh_receipt
      if TIMED then
        local bucket = math.floor(math.log(now - score + 1) * BUCKETS_PER_NAT + BUCKET_ROUNDING)
        late[bucket] = (late[bucket] or 0) + 1
      else
        priorities[#priorities + 1] = id
        priorities[#priorities + 1] = taken[i + 1]
      end
    end
  end
  if is_bottom then
    redis.call('ZREMRANGEBYRANK', STORE, 0, n - 1)
  elseif is_top then
    redis.call('ZREMRANGEBYRANK', STORE, -n, -1)
  else
    redis.call('ZREM', STORE, unpack(ids))
  end
  redis.call('ZADD', PREPARE, unpack(prepared))
  if #priorities > 0 then
    remember_priorities(priorities)
  end
  note_lateness(late)
  count('taken', n)
  if JOURNALING then
    next_phase()
    local items = items_of('taken', 'sp')
    for i = 1, #taken, 2 do
      items[i], items[i + 1] = prepared[i + 1], prepared[i]
    end
  end
  local bodies = {}
  if redis.call('EXISTS', BODY) == 1 then
    bodies = redis.call('HMGET', BODY, unpack(ids))
  end
  return taken, bodies
end
