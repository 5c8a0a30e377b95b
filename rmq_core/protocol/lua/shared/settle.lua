-- include shared/versions.lua
-- include shared/handed_out.lua
-- Settling: only a receipt that is still the prepare score counts; anything else is stale and changes nothing.
-- Each function reads `n` groups from ARGV[at…], appends a status per group (1 done, 0 stale), returns the next position.

local receipts
-- A block, for a script may have 200 locals at most.
do
  local MEMBERS_FROM = 16

  -- Where all receipts are the same, as those of one take in shared mode: the ids that have it, as a set. The server is
  -- slow at writing scores as text, so it is asked for none. nil: there are too many others.
  local function members_of(at, n, width)
    local receipt = ARGV[at + 1]
    for i = 1, n - 1 do
      if ARGV[at + i * width + 1] ~= receipt then
        return nil
      end
    end
    if redis.call('ZCOUNT', PREPARE, receipt, receipt) > n * 2 then
      return nil
    end
    local set = {}
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', PREPARE, receipt, receipt)) do
      set[id] = true
    end
    return set
  end

  -- Splits the groups of `width` into those whose receipt holds (their positions) and the stale ones.
  function receipts(at, n, width, statuses)
    local ids = {}
    for i = 1, n do
      ids[i] = ARGV[at + (i - 1) * width]
    end
    local held = n >= MEMBERS_FROM and members_of(at, n, width)
    local valid = {}
    if held then
      for i = 1, n do
        local ok = held[ids[i]]
        statuses[#statuses + 1] = ok and 1 or 0
        if ok then
          valid[#valid + 1] = i
        end
      end
      return ids, valid
    end
    local scores = redis.call('ZMSCORE', PREPARE, unpack(ids))
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
    if limits.make_room then
      limits.make_room(done)
    end
    count('acked', gone)
    if JOURNALING then
      note_acked(at, valid, gone)
    end
    if keep_versions then
      keep_versions(done)
    end
    if ORDER then
      ORDER.note_handled(done)
    end
    if redis.call('EXISTS', BODY, FAILED, REPLACED, PRIORITY, SUSPECT) > 0 then
      redis.call('HDEL', REPLACED, unpack(done))
      clear_suspects(done)
      forget(done, {STORE, RETRY, DEAD}, true)
    end
    if GROUP then
      finished(done)
    end
    forget_origins()
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
  nacked = nacked + #valid
  for _, i in ipairs(valid) do
    local group = at + (i - 1) * 4
    if redis.call('ZREM', PREPARE, ids[i]) == 1 then
      local receipt = tonumber(ARGV[group + 1])
      if limits.make_room then
        limits.make_room({ids[i]})
      end
      clear_suspects({ids[i]})
      fail(
        ids[i], receipt % SHIFT + 1, tonumber(ARGV[group + 2]), ARGV[group + 3], not TIMED and origin_of(ids[i], receipt)
      )
    end
  end
  forget_origins()
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
    local id, receipt = ids[i], tonumber(ARGV[group + 1])
    local delay_ms, failures = tonumber(ARGV[group + 2]), receipt % SHIFT
    if redis.call('ZREM', PREPARE, id) == 1 then
      if limits.make_room then
        limits.make_room({id})
      end
      handed_out.came_back(receipt)
      local place = tonumber(ARGV[group + 3]) or origin_of(id, receipt) or tonumber(redis.call('HGET', PRIORITY, id) or nil)
      count('released', 1)
      if delay_ms <= 0 then
        place = GROUP and entry_place(id) or place
        local score = failures > 0 and retries_left(failures) or place or fresh_place(nil, id)
        if back_to_store(id, score, 'released', 'p', ARGV[group + 1]) and score > RETRIED_MAX then
          forget_priority(id)
        end
      elseif waiting(id) then
        note('released', 'pp', id, ARGV[group + 1])
        merge_into_waiting(id, 'p')
      else
        local due = (now + delay_ms) * SHIFT + failures
        limits.note_wait(delay_ms)
        redis.call('ZADD', RETRY, due, id)
        if not TIMED and failures == 0 and place then
          remember_priorities({id, place})
        end
        note('released', 'pr', id, due)
      end
    end
  end
  forget_origins()
  return at + n * 4
end
