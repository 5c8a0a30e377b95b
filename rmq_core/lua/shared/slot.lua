-- The keys of one slot, in the order slots.QUEUE_KEYS declares them, and the clock. Sending is given the first nine.
local STORE, RETRY, PREPARE, DEAD = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local BODY, FAILED, PRIORITY = KEYS[5], KEYS[6], KEYS[7]
local STATS, LATENESS, FENCE = KEYS[8], KEYS[10], KEYS[11]
local RETRIED_MAX, SHIFT = 16, 1000

local time = redis.call('TIME')
local micros = tonumber(time[2])
local now = tonumber(time[1]) * 1000 + math.floor(micros / 1000)

local counted = {}
-- What fragments have to write when all is done.
local at_the_end, write_journal

local function count(event, n)
  counted[event] = (counted[event] or 0) + n
end

-- Call once, after the last change. Whatever changes a slot counts something: the sampler relies on it.
local function write_counts()
  if at_the_end then
    at_the_end()
  end
  if write_journal then
    write_journal()
  end
  for event, n in pairs(counted) do
    if n ~= 0 then
      redis.call('HINCRBY', STATS, event, n)
    end
  end
end

-- Bodies, failure records and priorities go when no queue holds the id any more: `queues` are those that may.
-- `fresh_in_store`: whichever of them waits in store has not failed, so its priority is its score.
local function forget(ids, queues, fresh_in_store)
  local pooled = redis.call('EXISTS', BODY, FAILED) > 0
  if #ids == 0 or not pooled and redis.call('EXISTS', PRIORITY) == 0 then
    return
  end
  local found, any = {}, false
  for _, queue in ipairs(queues) do
    if (pooled or queue ~= STORE or not fresh_in_store) and redis.call('EXISTS', queue) == 1 then
      local scores = redis.call('ZMSCORE', queue, unpack(ids))
      for i = 1, #ids do
        if scores[i] then
          found[ids[i]] = true
          any = true
        end
      end
    end
  end
  local gone = ids
  if any then
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
