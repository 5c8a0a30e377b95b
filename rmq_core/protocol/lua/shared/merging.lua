-- What a send does to a message that may be known already. Needs sending, bodies, records, and both kinds of
-- places.

-- The score of a new message of that value, behind its equals.
local function place(value, number)
  if KIND == 'priority' then
    return priority_place(value, number)
  end
  return timed_place(KIND == 'range-merge' and now + value or value)
end

-- Whether a duplicate leaves the message that waits with this score where it is.
local function stays(score, value)
  if KIND == 'range-merge' then
    return true
  end
  return (KIND == 'priority' and priority_of or math.floor)(tonumber(score)) == value
end

-- include shared/noting_sent.lua
-- include shared/version_of.lua

-- When the message that waits is due: one that is ready, now.
local function due_of(id)
  local retry = redis.call('ZSCORE', RETRY, id)
  if retry and retry - HELD_FROM >= 0 then -- kept back by a hold
    local place = retry % SHIFT == 0 and redis.call('HGET', PRIORITY, id)
    return math.max(now, place and math.floor(tonumber(place)) or now)
  end
  return math.max(now, retry and math.floor(tonumber(retry) / SHIFT) or math.floor(tonumber(redis.call('ZSCORE', STORE, id))))
end

-- A body that says how long its message may be waited for, with the time that is: from when it is due, or accepted. One
-- that merges into a message whose time stays counts from that.
local function with_end(id, body, value, waits)
  local wait_ms, from = string.match(body, '^\3e%+(%d+)()')
  if not wait_ms then
    return body
  end
  local due = KIND == 'fixed-time' and value or now
  if KIND == 'range-merge' then
    due = waits and due_of(id) or now + value
  end
  return '\3e' .. ms_text(due + wait_ms) .. string.sub(body, from)
end

-- include shared/lapsing.lua

-- What a new message of the id meets: the copy that waits, and the body in the pool. One that may not be delivered any
-- more ends here: nothing may merge into it.
local function meets(id)
  local waits, old = waiting(id), redis.call('HGET', BODY, id)
  if waits and has_lapsed(old) then
    lapse({id}, redis.call('ZSCORE', RETRY, id) and 'r' or 's', 'lapsed')
    return nil, redis.call('HGET', BODY, id)
  end
  return waits, old
end

-- Puts one message into the store, or moves the one that waits; returns its score, nil where nothing moves.
local function enqueue(id, value, number)
  local retry = redis.call('ZSCORE', RETRY, id)
  -- Kept back by a hold: it stays where it is, and what is given another place is its place for later.
  local held = retry and retry - HELD_FROM >= 0 and retry % SHIFT == 0
  local store = held and redis.call('HGET', PRIORITY, id) or not retry and redis.call('ZSCORE', STORE, id)
  if (retry and KIND == 'range-merge') or (store and stays(store, value)) then
    return nil
  end
  local score = place(value, number)
  if held then
    redis.call('HSET', PRIORITY, id, score)
    return nil
  end
  redis.call('ZADD', STORE, score, id)
  if retry then
    redis.call('ZREM', RETRY, id)
  end
  return score
end

local some_dead

-- Where no other copy uses the pools, a dead letter of an older release may: it is given a record of its own.
local function settle_older(id)
  if some_dead == nil then
    some_dead = redis.call('EXISTS', DEAD) == 1
  end
  if some_dead and not redis.call('ZSCORE', PREPARE, id) then
    settle_dead(id)
  end
end

-- The body of `id` becomes `body` ('': none). `old`: what the pool holds; `waits`: a copy waits, and it is its body.
local function replace_body(id, old, body, waits)
  if old or body ~= '' then
    keep_in_flight(id, old)
    if not waits then
      settle_older(id)
    end
  end
  if body ~= '' then
    redis.call('HSET', BODY, id, body)
  elseif old then
    redis.call('HDEL', BODY, id)
  end
end

-- Whether a newer version of the id is known: of the copy that waits or, where none does, of the one in flight.
local function outdated(id, old, body, waits)
  return old and version_of(old) > version_of(body) and (waits or redis.call('ZSCORE', PREPARE, id))
end
