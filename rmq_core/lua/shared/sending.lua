-- ARGV[1..6] of both sends.
local KIND, CHANNEL, SLOT, MERGE = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local LEAST, ALLOW_PAST = tonumber(ARGV[5]), ARGV[6] == '1'

local function refused()
  if JOURNALING then
    local limit, held = tonumber(string.match(MARK, '(%d+)$')), redis.call('XLEN', JOURNAL)
    if limit > 0 and held >= limit then
      return redis.error_reply(string.format('RMQJOURNAL %d', held))
    end
  end
  if KIND == 'fixed-time' and not ALLOW_PAST and LEAST <= now then
    return redis.error_reply(string.format('RMQPAST %.0f', now - LEAST))
  end
  return nil
end

-- Whether a sleeping consumer would now sleep too long. Messages that are due already do not matter: whoever can
-- take them is awake, and those that wait for their own earlier delivery must not hide a newcomer.
local function head_moves(least)
  if KIND == 'priority' then
    local waiting = redis.call('ZCARD', STORE)
    return waiting == 0 or waiting <= redis.call('ZCARD', PREPARE)
  end
  local due = KIND == 'range-merge' and now + least or least
  local head = redis.call('ZRANGEBYSCORE', STORE, '(' .. string.format('%.0f', now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  return not head[2] or due < tonumber(head[2])
end

local function version_of(body)
  return body and tonumber(string.match(body, '^(%d+) ')) or 0
end

local function waiting(id)
  return redis.call('ZSCORE', RETRY, id) or redis.call('ZSCORE', STORE, id)
end

-- Puts one message into the store, or moves the one that waits; returns its score, nil where nothing moves.
local function enqueue(id, value, waits)
  if KIND ~= 'range-merge' then
    redis.call('ZADD', STORE, value, id)
    redis.call('ZREM', RETRY, id)
    return value
  elseif not waits then
    redis.call('ZADD', STORE, now + tonumber(value), id)
    return now + tonumber(value)
  end
end

local function note_sent(id, score, waits, body)
  if JOURNALING and waits then
    items_of('sent', 'ns') -- what one call sends and then merges is listed in that order
  end
  note(waits and 'merged' or 'sent', score and 'ns' or 'n-', id, score or 0, body)
end
