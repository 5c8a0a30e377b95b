-- What failure number `failures` does to a message just removed from prepare.
-- Needs shared/clusters.lua and shared/journal.lua.
local REJECTED, TOPIC_BACKOFF = -2, -1

-- Keeps the first time and adds to the total; `fragment` is the rest of a JSON object ('"error":…}').
local function record_failure(id, fragment)
  local old = redis.call('HGET', FAILED, id)
  local total, first_ms = 0, nil
  if old then
    total, first_ms = string.match(old, '^{"failures":(%d+),"first_ms":(%d+)')
  end
  redis.call('HSET', FAILED, id, string.format(
    '{"failures":%d,"first_ms":%.0f,"last_ms":%.0f,', tonumber(total or 0) + 1, tonumber(first_ms or now), now
  ) .. fragment)
end

-- What the journal tells of a failure beside the score: how many, and what a person can tell it by.
local TOLD_MOST = 200

local function told(score, failures, fragment)
  if not JOURNALING then
    return nil
  end
  -- Inside JSON's strings no quote follows a comma.
  local text, worker = string.match(fragment, '"message":"(.-)","worker":"(.-)"')
  return {
    score, failures, string.match(fragment, '^"fingerprint":"(%x+)"') or '',
    string.match(fragment, '"error":"(.-)","message":') or '', string.sub(text or '', 1, TOLD_MOST), worker or '',
  }
end

local function fail(id, failures, delay_ms, fragment)
  if redis.call('ZSCORE', STORE, id) then
    count('merged', 1)
    note('merged', 'p-', id, 0)
    return
  end
  record_failure(id, fragment)
  if failures > MAX_RETRIES or delay_ms == REJECTED then
    count('died', 1)
    note('died', 'pd', id, told(now, failures, fragment))
    if redis.call('ZADD', DEAD, now, id) == 0 then
      count('merged', 1)
      note('merged', 'dd', id, now)
      leave_clusters({id})
    end
    enter_cluster(id, string.match(fragment, '^"fingerprint":"(%x+)"') or UNKNOWN, now, fragment)
    return
  end
  if delay_ms == TOPIC_BACKOFF then
    delay_ms = math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ^ (failures - 1))
  end
  count('retried', 1)
  if delay_ms > 0 then
    local due = (now + delay_ms) * SHIFT + failures
    redis.call('ZADD', RETRY, due, id)
    note('retried', 'pr', id, told(due, failures, fragment))
  else
    redis.call('ZADD', STORE, retries_left(failures), id)
    note('retried', 'ps', id, told(retries_left(failures), failures, fragment))
  end
end
