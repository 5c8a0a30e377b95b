-- ARGV[1..6]: what the topic says about failing, and who is asking.
local TIMED = ARGV[1] ~= 'priority'
local MAX_RETRIES = tonumber(ARGV[2])
local TIMEOUT_MS = tonumber(ARGV[3])
local BACKOFF_MS = tonumber(ARGV[4])
local BACKOFF_MAX_MS = tonumber(ARGV[5])
local EPOCH = ARGV[6]
local POLICY = 6

-- The reply to an owner that is no longer the owner; nil lets the script go on.
local function fenced()
  local fence = redis.call('GET', FENCE) or ''
  if fence ~= EPOCH then
    return redis.error_reply('RMQFENCED ' .. (fence == '' and 'none' or fence))
  end
  return nil
end

-- Mirrors scores.retries_left and scores.failures_of; a lowered max_retries leaves at least one.
local function retries_left(failures)
  return math.max(1, MAX_RETRIES - failures + 1)
end

local function failures_of(score)
  if score > RETRIED_MAX then
    return 0
  end
  return math.max(1, MAX_RETRIES - score + 1)
end

-- Back into the store; an equal id that waits there or in retry is a newer send, and this one merges into it.
-- `event`, `from`: what the journal calls that. `receipt`: of a delivery, whose release it tells even where it merges.
local function restore(id, score, event, from, receipt)
  if redis.call('ZSCORE', RETRY, id) or redis.call('ZADD', STORE, 'NX', score, id) == 0 then
    count('merged', 1)
    if receipt then
      note(event, 'pp', id, receipt)
    end
    note('merged', from .. '-', id, 0)
  else
    note(event, from .. 's', id, score)
  end
end

-- Where a message goes that is to be delivered again as if it had not failed.
local function fresh_score(id)
  if TIMED then
    return now
  end
  return redis.call('HGET', PRIORITY, id) or (RETRIED_MAX + 1)
end
