-- What failure number `failures` does to a message just removed from prepare.
-- Needs policy, journal, bodies, records, clusters, trash, returning.
local REJECTED, TOPIC_BACKOFF = -2, -1
-- See shared/holds.lua; nil: nothing waits for what fails.
local wait_behind
-- In the body of what is followed by something (`rmq_core/model/follow_ups.py`).
local FOLLOWED = '"rmq-then"'

-- Keeps the first time and adds to the total; `fragment` is the rest of a JSON object ('"error":…}'). `due_ms`: when its
-- next try is due, 0 where it does not wait for one.
local function record_failure(id, due_ms, fragment)
  local old = redis.call('HGET', FAILED, id)
  local total, first_ms = 0, nil
  if old then
    total, first_ms = string.match(old, '^{"failures":(%d+),"first_ms":(%d+)')
  end
  redis.call('HSET', FAILED, id, string.format(
    '{"failures":%d,"first_ms":%.0f,"last_ms":%.0f,"due_ms":%.0f,', tonumber(total or 0) + 1, tonumber(first_ms or now), now, due_ms
  ) .. fragment)
end

-- The message becomes a dead letter with a record of its own. One of the same id that is dead already makes room: it
-- goes to the trash, from where it can be restored once this one is gone.
local function die(id, failures, fragment)
  local died_ms = redis.call('ZSCORE', DEAD, id)
  if died_ms then
    count('merged', 1)
    note('merged', 'dt', id, now)
    trash_dead(id, died_ms, leave_clusters({id})[1])
  end
  record_failure(id, 0, fragment)
  local packed = packed_from_pools(id, 'd', now, nil)
  redis.call('HSET', DEAD_RECORD, id, packed)
  if not GROUP and string.find(packed, FOLLOWED, 1, true) then
    redis.call('XADD', OWED, '*', 'id', id, 'body', unpack_record(packed).body or '')
    redis.call('HINCRBY', STATS, 'owed', 1)
  end
  if GROUP then
    finished({id})
  end
  redis.call('HDEL', BODY, id)
  redis.call('HDEL', FAILED, id)
  forget_priority(id)
  redis.call('ZADD', DEAD, now, id)
  count('died', 1)
  note('died', 'pd', id, described(now, failures, fragment))
  enter_cluster(id, string.match(fragment, '^"fingerprint":"(%x+)"') or UNKNOWN, now, fragment)
  clear_suspects({id})
end

-- `place`: the score it was taken from, where that is known.
local function fail(id, failures, delay_ms, fragment, place)
  if waiting(id) then
    merge_into_waiting(id, 'p')
    return
  end
  if not TIMED and place and place > RETRIED_MAX then
    remember_priorities({id, place})
  end
  if failures > MAX_RETRIES or delay_ms == REJECTED then
    die(id, failures, fragment)
    return
  end
  if delay_ms == TOPIC_BACKOFF then
    delay_ms = math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ^ (failures - 1))
  end
  record_failure(id, delay_ms > 0 and now + delay_ms or 0, fragment)
  count('retried', 1)
  if delay_ms > 0 then
    local due = (now + delay_ms) * SHIFT + failures
    limits.note_wait(0) -- its record says how long
    redis.call('ZADD', RETRY, due, id)
    note('retried', 'pr', id, described(due, failures, fragment))
  else
    redis.call('ZADD', STORE, retries_left(failures), id)
    note('retried', 'ps', id, described(retries_left(failures), failures, fragment))
  end
  if wait_behind then
    wait_behind(id)
  end
end
