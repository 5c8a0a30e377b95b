-- What fingerprints.fingerprint makes of the text below, with any number in it.
local TIMEOUT_FINGERPRINT = '384c5f74564d0e47'

-- Timeouts and retries that are due, at most `most` of each; what a slot needs even when nobody takes from it.
local function roll_back(most)
  local expired = redis.call(
    'ZRANGEBYSCORE', PREPARE, '-inf', (now - TIMEOUT_MS) * SHIFT + SHIFT - 1, 'WITHSCORES', 'LIMIT', 0, most
  )
  for i = 1, #expired, 2 do
    local id, failures = expired[i], tonumber(expired[i + 1]) % SHIFT + 1
    redis.call('ZREM', PREPARE, id)
    count('expired', 1)
    fail(id, failures, 0, string.format(
      '"fingerprint":"%s","error":"Timeout","message":"not settled within %.0f ms","worker":""}',
      TIMEOUT_FINGERPRINT, TIMEOUT_MS
    ))
  end
  return #expired / 2
end

local function promote(most)
  local due = redis.call('ZRANGEBYSCORE', RETRY, '-inf', now * SHIFT + SHIFT - 1, 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #due, 2 do
    local id, failures = due[i], tonumber(due[i + 1]) % SHIFT
    redis.call('ZREM', RETRY, id)
    restore(id, failures > 0 and retries_left(failures) or fresh_score(id))
  end
  return #due / 2
end

local function head_ms(queue, extra_ms)
  local head = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  return head[2] and math.floor(tonumber(head[2]) / SHIFT) + extra_ms
end

local function earlier(a, b)
  if not a or not b then
    return a or b
  end
  return math.min(a, b)
end

-- When the slot next needs a look though nobody sends to it: a due message, a due retry, a timeout. nil: never.
local function next_look()
  local look = earlier(head_ms(RETRY, 0), head_ms(PREPARE, TIMEOUT_MS))
  if TIMED then
    local head = redis.call('ZRANGEBYSCORE', STORE, '(' .. string.format('%.0f', now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    look = earlier(look, head[2] and tonumber(head[2]))
  end
  return look
end
