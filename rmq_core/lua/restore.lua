-- Brings cancelled and dropped messages back to where they were: what is due meanwhile is ready, a dead letter is dead.
-- Content, failure record and priority come along where they are not known again already.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at)
--        wake channel, slot, undo_ms, then ids
-- reply  per id: 1 done (where the id waits again, or is dead again: merged into that), 0 not found
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/clusters.lua
-- include shared/take.lua
-- include shared/trash.lua

local undo_ms, FIRST = tonumber(ARGV[POLICY + 3]), POLICY + 4

-- Whether any queue holds the id, and whether as one that has been taken before (its priority is noted then).
local function known(id)
  local store = tonumber(redis.call('ZSCORE', STORE, id) or nil)
  for _, queue in ipairs({RETRY, PREPARE, DEAD}) do
    if redis.call('ZSCORE', queue, id) then
      return true, true
    end
  end
  return store ~= nil, store ~= nil and store <= RETRIED_MAX
end

-- Whether it is back, in which queue, with which score; false: an equal id is there.
local function put_back(id, message)
  if message.queue == 'd' then
    if redis.call('ZADD', DEAD, 'NX', message.score, id) == 0 then
      return false
    end
    enter_cluster(id, message.cause or UNKNOWN, message.score, message.failed or '')
    return true, 'd', message.score
  end
  if redis.call('ZSCORE', STORE, id) or redis.call('ZSCORE', RETRY, id) then
    return false
  end
  if message.queue == 'r' then
    redis.call('ZADD', RETRY, message.score, id)
    return true, 'r', message.score
  end
  local overdue = TIMED and message.score > RETRIED_MAX and message.score < now
  redis.call('ZADD', STORE, overdue and now or message.score, id)
  return true, 's', overdue and now or message.score
end

local statuses = {}
for i = FIRST, #ARGV do
  local id = ARGV[i]
  local message = take_out(id, undo_ms)
  if message then
    count('restored', 1)
    local held, taken_before = known(id)
    local was_taken = message.queue ~= 's' or message.score <= RETRIED_MAX
    local back, queue, score = put_back(id, message)
    if not back then
      count('merged', 1)
      note('merged', 't-', id, 0)
    else
      note('restored', (message.lost and not held and '-' or 't') .. queue, id, score, not held and (message.body or ''))
      if message.body and not held then
        redis.call('HSET', BODY, id, message.body)
      end
      if message.failed then
        redis.call('HSETNX', FAILED, id, message.failed)
      end
      if message.priority and was_taken and not taken_before then
        remember_priorities({id, message.priority})
      end
    end
  end
  statuses[#statuses + 1] = message and 1 or 0
end
trim_trash(undo_ms, TRIMMED_MOST)
write_counts()
redis.call('PUBLISH', ARGV[POLICY + 1], ARGV[POLICY + 2])
return statuses
