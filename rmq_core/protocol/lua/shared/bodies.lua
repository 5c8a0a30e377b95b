-- The pools, for messages that are more than their id, and which copy of an id they speak of. Up to three copies of an
-- id exist at once: one that waits (store or retry), one in flight, one dead.
--   body, failed, priority   of the copy that waits; of the one in flight where none waits
--   replaced                 the body of the one in flight while another waits ('': none, its content is the id)
--   dead_record              all three of the dead one, see shared/records.lua
-- Dead letters of releases before dead_record have theirs in the first three.

-- Call before the pooled body of an id changes: the delivery in flight keeps its own.
local function keep_in_flight(id, old)
  if redis.call('ZSCORE', PREPARE, id) then
    redis.call('HSETNX', REPLACED, id, old or '')
  end
end

-- The copy that waited has gone: what is in flight has the pools for itself again.
local function waiting_left(ids)
  if #ids == 0 or redis.call('EXISTS', REPLACED) == 0 then
    return
  end
  for i, body in ipairs(redis.call('HMGET', REPLACED, unpack(ids))) do
    if body then
      redis.call('HDEL', REPLACED, ids[i])
      if body == '' then
        redis.call('HDEL', BODY, ids[i])
      else
        redis.call('HSET', BODY, ids[i], body)
      end
    end
  end
end

-- Of ids that the dead queue holds, those whose pools are still its own.
local function dead_in_pools(ids, scores, found)
  for i, id in ipairs(ids) do
    if scores[i] and redis.call('HEXISTS', DEAD_RECORD, id) == 0 then
      found[id] = true
    end
  end
end

-- Call when a copy has ended. `queues` are those in which another copy may need the pools.
-- `fresh_in_store`: whichever of them waits in store has not failed, so its priority is its score.
local function forget(ids, queues, fresh_in_store)
  if #ids == 0 then
    return
  end
  local pooled = redis.call('EXISTS', BODY, FAILED, REPLACED) > 0
  if not pooled and redis.call('EXISTS', PRIORITY) == 0 then
    return
  end
  local found = {}
  for _, queue in ipairs(queues) do
    if (pooled or queue ~= STORE or not fresh_in_store) and redis.call('EXISTS', queue) == 1 then
      local scores = redis.call('ZMSCORE', queue, unpack(ids))
      if queue == DEAD then
        dead_in_pools(ids, scores, found)
      else
        for i = 1, #ids do
          if scores[i] then
            found[ids[i]] = true
          end
        end
      end
    end
  end
  local gone = ids
  if next(found) then
    gone = {}
    for _, id in ipairs(ids) do
      if not found[id] then
        gone[#gone + 1] = id
      end
    end
  end
  if #gone > 0 then
    if pooled then
      redis.call('HDEL', BODY, unpack(gone))
      redis.call('HDEL', FAILED, unpack(gone))
    end
    if redis.call('HDEL', PRIORITY, unpack(gone)) > 0 and redis.call('HLEN', PRIORITY) == 1 then
      redis.call('DEL', PRIORITY)
    end
  end
end

-- A small hash is a list that every HSET walks from end to end; one long value turns it into a table at once.
-- `forget` removes that field with the last message.
local TABLE_FIELD = ''

local function remember_priorities(priorities)
  if redis.call('EXISTS', PRIORITY) == 0 then
    redis.call('HSET', PRIORITY, TABLE_FIELD, string.rep(' ', 65))
  end
  redis.call('HSET', PRIORITY, unpack(priorities))
end

local function forget_priority(id)
  if redis.call('HDEL', PRIORITY, id) > 0 and redis.call('HLEN', PRIORITY) == 1 then
    redis.call('DEL', PRIORITY)
  end
end
