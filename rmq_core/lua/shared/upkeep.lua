-- What fingerprints.fingerprint makes of the text below, with any number in it.
local TIMEOUT_FINGERPRINT = '384c5f74564d0e47'

-- Timeouts and retries that are due, at most `most` of each; what a slot needs even when nobody takes from it.
local function roll_back(most)
  next_phase()
  local expired = redis.call(
    'ZRANGEBYSCORE', PREPARE, '-inf', (now - TIMEOUT_MS) * SHIFT + SHIFT - 1, 'WITHSCORES', 'LIMIT', 0, most
  )
  for i = 1, #expired, 2 do
    local id, failures = expired[i], tonumber(expired[i + 1]) % SHIFT + 1
    redis.call('ZREM', PREPARE, id)
    count('expired', 1)
    note('expired', 'pp', id, expired[i + 1])
    fail(id, failures, 0, string.format(
      '"fingerprint":"%s","error":"Timeout","message":"not settled within %.0f ms","worker":""}',
      TIMEOUT_FINGERPRINT, TIMEOUT_MS
    ))
  end
  return #expired / 2
end

local function promote(most)
  next_phase()
  local due = redis.call('ZRANGEBYSCORE', RETRY, '-inf', now * SHIFT + SHIFT - 1, 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #due, 2 do
    local id, failures = due[i], tonumber(due[i + 1]) % SHIFT
    redis.call('ZREM', RETRY, id)
    restore(id, failures > 0 and retries_left(failures) or fresh_score(id), 'promoted', 'r')
  end
  return #due / 2
end
