-- Sends inline messages (the id is the whole content) to one slot.
-- KEYS   the slot's first 13 keys
-- ARGV   kind, wake channel, slot, merge (latest|first), shape, edge of the batch (earliest time, or highest priority),
--        past (times that have gone by are 0: refused, 1: allowed; +: due times count from now), then value, id, value,
--        id, …   value: range_ms, priority or due_ms by kind
-- reply  their number where all are new and nothing is to be noted, or else
--        {new, merged, head and time for the topic's hint (false: none, or noted already)}
--        error RMQPAST <ms> when a fixed time has gone by, RMQJOURNAL <entries> when readers of the journal are too far
--        behind, RMQSHAPE <shape> when the topic is another one by now: nothing was sent
-- include shared/keys.lua
-- include shared/marks.lua

-- A function costs as much as a small command, and so does the clock. A plain message needs neither: so what some calls
-- do is no function, and makes those it needs itself.
if JOURNALING or ARGV[1] ~= 'priority' then
-- include shared/clock.lua
end
-- include shared/sending.lua

local FIRST = 8
local n = (#ARGV - FIRST + 1) / 2
-- The number of the last. Adds before it removes anything: a full server refuses a script only at a first write that adds.
-- See shared/priority_places.lua.
local numbered = KIND == 'priority' and redis.call('HINCRBY', STATS, 'sent', n) + (marks[3] or 0)

-- A small sorted set is a list, in which every insertion reads the text of every score before it: cheap for whole
-- numbers, dear for fractions. One long member (longer than any id) turns it into a real one.
local LIST_MOST, MANY, LOOK_EVERY = 128, 16, 16
local few = n < MANY and not (numbered and numbered % LOOK_EVERY < n)

-- Made where it is needed: to make a function costs half as much as a command.
local add_to_store = not few and function(...)
  local held = redis.call('ZCARD', STORE)
  if held > LIST_MOST or held + n < MANY then
    return redis.call('ZADD', STORE, ...)
  end
  local long = string.rep(' ', 513)
  redis.call('ZADD', STORE, 0, long)
  local new = redis.call('ZADD', STORE, ...)
  redis.call('ZREM', STORE, long)
  return new
end

local new
if more and redis.call('EXISTS', RETRY, BODY) > 0 then
  -- With a look at what is known of each, and whether it may still be delivered.
  if not now then
-- include shared/clock.lua
  end
-- include shared/counting.lua
-- include shared/journaling.lua
-- include shared/bodies.lua
-- include shared/records.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/merging.lua
  local number = numbered and numbered - n

  -- One that retries, or whose id has a body.
  local function send_one(id, value, position)
    local waits, old = meets(id)
    -- A plain message is version 0 of its id: where a newer one waits or is in flight, it merges into that.
    if outdated(id, old, '', waits) then
      note('merged', 'n-', id, 0, false)
      return 0
    end
    local keeps = waits and not LATEST
    if not keeps then
      replace_body(id, old, '', waits)
    end
    note_sent(id, enqueue(id, value, number and number + position), waits, not keeps and '')
    return waits and 0 or 1
  end

  local ids = {}
  for i = 1, n do
    ids[i] = ARGV[FIRST + i * 2 - 1]
  end
  local function known(key, command)
    return redis.call('EXISTS', key) == 1 and redis.call(command, key, unpack(ids)) or {}
  end
  local stored, retrying, bodies = known(STORE, 'ZMSCORE'), known(RETRY, 'ZMSCORE'), known(BODY, 'HMGET')
  local scored, seen = {}, {}
  local function flush()
    if #scored == 0 then
      return
    elseif few then
      redis.call('ZADD', STORE, unpack(scored))
    else
      add_to_store(unpack(scored))
    end
    scored = {}
  end
  new = 0
  for i, id in ipairs(ids) do
    local value = ARGV[FIRST + i * 2 - 2] + later
    if retrying[i] or bodies[i] then
      flush()
      new = new + send_one(id, value, i)
    else
      local before = seen[id] or stored[i]
      local score = not (before and stays(before, value)) and place(value, number and number + i) or nil
      if score then
        scored[#scored + 1] = score
        scored[#scored + 1] = id
        seen[id] = score
      end
      note_sent(id, score, before, (not before or LATEST) and '')
      new = new + (before and 0 or 1)
    end
  end
  flush()
  if not numbered then
    count('sent', n)
  end
  count('merged', n - new)
  write_counts()
else
  -- score, id, … of the batch, with as little work for each message as can be: these loops are most of a large send.
  local scored, format = {}, string.format
  -- As in shared/priority_places.lua, and as text: the server's way from a fraction to text is slow.
  local PLACES, DIGITS = 4294967296, 10000000000
  local each = DIGITS / PLACES
  if numbered and n == 1 and numbered % PLACES > 0 then
    scored[1] = format('%d.%010d', ARGV[FIRST] - 1, DIGITS - numbered % PLACES * each)
    scored[2] = ARGV[FIRST + 1]
  elseif numbered then
    local wholes, number = {}, numbered - n
    for at = FIRST, FIRST + n * 2 - 2, 2 do
      local priority = ARGV[at]
      local whole = wholes[priority]
      if not whole then
        whole = format('%d.', priority - 1)
        wholes[priority] = whole
      end
      number = number + 1
      if number % PLACES == 0 then
        scored[at - FIRST + 1] = priority
      else
        scored[at - FIRST + 1] = format('%s%010d', whole, DIGITS - number % PLACES * each)
      end
      scored[at - FIRST + 2] = ARGV[at + 1]
    end
  else
    local function ms_text(ms)
      return format('%d', ms)
    end
-- include shared/timed_places.lua
    local base = KIND == 'range-merge' and now or later
    local value_before, score, ms, step, whole = nil, nil, 0, 0, nil
    for at = FIRST, FIRST + n * 2 - 2, 2 do
      local value = ARGV[at]
      if value == value_before and score + step < ms + 1 then
        score = score + step
        whole = whole or format('%d.', ms)
      else
        if value_before then
          places_used(score)
        end
        value_before, score = value, timed_place(base + value)
        ms = math.floor(score)
        step, whole = step_at(ms), nil
      end
      if score == ms then
        scored[at - FIRST + 1] = format('%d', ms)
      elseif whole and near(ms) then
        scored[at - FIRST + 1] = format('%s%04d', whole, (score - ms) * 10000 + 0.5)
      else
        scored[at - FIRST + 1] = timed_text(ms, score)
      end
      scored[at - FIRST + 2] = ARGV[at + 1]
    end
  end
  if few then
    new = redis.call('ZADD', STORE, 'NX', unpack(scored))
  else
    new = add_to_store('NX', unpack(scored))
  end
  -- Those that waited before, or were sent twice by this call: whether they move.
  local moved, moved_to, stored = {}, {}, nil
  if new < n and (JOURNALING or KIND ~= 'range-merge') then
    local whole_of = KIND == 'priority' and math.ceil or math.floor
    local all, seen = {}, {}
    for i = 1, n do
      all[i] = scored[i * 2]
    end
    stored = redis.call('ZMSCORE', STORE, unpack(all))
    for i = 1, KIND ~= 'range-merge' and n or 0 do
      local id = all[i]
      if whole_of(tonumber(seen[id] or stored[i])) ~= ARGV[FIRST + i * 2 - 2] + later then
        -- The place that was chosen above is used by nobody; a second one for the same id comes behind the first.
        local score = scored[i * 2 - 1]
        moved[#moved + 1] = score
        moved[#moved + 1] = id
        moved_to[i] = score
        seen[id] = score
      end
    end
    if #moved > 0 then
      redis.call('ZADD', STORE, unpack(moved))
    end
  end
  if JOURNALING then
-- include shared/counting.lua
-- include shared/journaling.lua
-- include shared/noting_sent.lua
    if new == n then
      note_all_sent(scored, n)
    else
      for i = 1, n do
        local score = tonumber(scored[i * 2 - 1])
        -- No two messages have one place: so what has the place that was chosen is new.
        local is_new = tonumber(stored[i]) == score
        note_sent(scored[i * 2], (is_new or moved_to[i]) and score, not is_new, (is_new or LATEST) and '')
      end
    end
    write_journal()
  end
  if not numbered then
    redis.call('HINCRBY', STATS, 'sent', n)
  end
  if new < n then
    redis.call('HINCRBY', STATS, 'merged', n - new)
  end
end
-- include shared/announcing.lua
if new == n and not noted then
  return n
end
return {new, n - new, noted}
