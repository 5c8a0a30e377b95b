-- Settling: only a receipt that is still the prepare score counts; anything else is stale and changes nothing.
-- Each function reads `n` groups from ARGV[at…], appends a status per group (1 done, 0 stale), returns the next position.

-- Splits the groups of `width` into those whose receipt holds (their positions) and the stale ones.
local function receipts(at, n, width, statuses)
  local ids = {}
  for i = 1, n do
    ids[i] = ARGV[at + (i - 1) * width]
  end
  local scores = redis.call('ZMSCORE', PREPARE, unpack(ids))
  local valid = {}
  for i = 1, n do
    local receipt = ARGV[at + (i - 1) * width + 1]
    -- Equal text is the common case and the cheap one; round scores may be written as 1.8e+15.
    local ok = scores[i] and (scores[i] == receipt or tonumber(scores[i]) == tonumber(receipt))
    statuses[#statuses + 1] = ok and 1 or 0
    if ok then
      valid[#valid + 1] = i
    end
  end
  return ids, valid
end

-- An id that was given twice has left once.
local function note_acked(at, valid, gone)
  local items, seen = items_of('acked', 'p-'), #valid > gone and {}
  for _, position in ipairs(valid) do
    local id = ARGV[at + (position - 1) * 2]
    if not seen or not seen[id] then
      items[#items + 1] = id
      items[#items + 1] = ARGV[at + position * 2 - 1]
      if seen then
        seen[id] = true
      end
    end
  end
end

-- groups: id, receipt
local function ack(at, n, statuses)
  if n == 0 then
    return at
  end
  local ids, valid = receipts(at, n, 2, statuses)
  if #valid > 0 then
    local done = ids
    if #valid < n then
      done = {}
      for i, position in ipairs(valid) do
        done[i] = ids[position]
      end
    end
    local gone = redis.call('ZREM', PREPARE, unpack(done))
    count('acked', gone)
    if JOURNALING then
      note_acked(at, valid, gone)
    end
    forget(done, {STORE, RETRY, DEAD}, true)
  end
  return at + n * 2
end

-- groups: id, receipt, delay_ms (-1 the topic's back-off, -2 dead at once), failure fragment
local function nack(at, n, statuses)
  if n == 0 then
    return at
  end
  next_phase()
  local ids, valid = receipts(at, n, 4, statuses)
  for _, i in ipairs(valid) do
    local group = at + (i - 1) * 4
    if redis.call('ZREM', PREPARE, ids[i]) == 1 then
      local failures = tonumber(ARGV[group + 1]) % SHIFT + 1
      fail(ids[i], failures, tonumber(ARGV[group + 2]), ARGV[group + 3])
    end
  end
  return at + n * 4
end

-- groups: id, receipt, delay_ms, original store score ('' when unknown)
local function release(at, n, statuses)
  if n == 0 then
    return at
  end
  next_phase()
  local ids, valid = receipts(at, n, 4, statuses)
  for _, i in ipairs(valid) do
    local group = at + (i - 1) * 4
    local id, failures = ids[i], tonumber(ARGV[group + 1]) % SHIFT
    local delay_ms, score = tonumber(ARGV[group + 2]), ARGV[group + 3]
    if redis.call('ZREM', PREPARE, id) == 1 then
      count('released', 1)
      if delay_ms > 0 then
        if redis.call('ZSCORE', STORE, id) then
          count('merged', 1)
          note('released', 'pp', id, ARGV[group + 1])
          note('merged', 'p-', id, 0)
        else
          local due = (now + delay_ms) * SHIFT + failures
          redis.call('ZADD', RETRY, due, id)
          note('released', 'pr', id, due)
        end
      else
        score = failures > 0 and retries_left(failures) or score ~= '' and score or fresh_score(id)
        restore(id, score, 'released', 'p', ARGV[group + 1])
      end
    end
  end
  return at + n * 4
end
