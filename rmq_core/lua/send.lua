-- Sends inline messages (the id is the whole content) to one slot.
-- KEYS   the slot's first nine keys
-- ARGV   kind, wake channel, slot, merge (latest|first), least value of the batch, allow_past (1|0),
--        then value, id, value, id, …   value: range_ms, priority or due_ms by kind
-- reply  {new, merged}; error RMQPAST <ms> when a fixed time has gone by: nothing was sent
--        error RMQJOURNAL <entries> when readers of the journal are too far behind: nothing was sent
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/sending.lua

local FIRST = 7
local n = (#ARGV - FIRST + 1) / 2

local function ids()
  local all = {}
  for i = 1, n do
    all[i] = ARGV[FIRST + i * 2 - 1]
  end
  return all
end

local refusal = refused()
if refusal then
  return refusal
end
local wake = head_moves(LEAST)

-- A plain message is version 0 of its id: a body of a newer version stays, and the message merges into it. Any other
-- body of that id no longer counts, unless it waits and the topic keeps the first. Returns {id → true}, ids.
local function bodies_in_the_way(all)
  local newer, replaced = {}, {}
  local bodies = redis.call('HMGET', BODY, unpack(all))
  for i, id in ipairs(all) do
    if bodies[i] and version_of(bodies[i]) > 0 then
      newer[id] = true
    elseif bodies[i] and not (MERGE == 'first' and waiting(id)) then
      replaced[#replaced + 1] = id
    end
  end
  return newer, replaced
end

local unusual = redis.call('EXISTS', RETRY, BODY) > 0
local all, newer, replaced, waited = {}, {}, {}, nil
if unusual or JOURNALING then
  all = ids()
end
if unusual then
  newer, replaced = bodies_in_the_way(all)
end
if JOURNALING and redis.call('EXISTS', STORE, RETRY) > 0 then
  waited = {redis.call('ZMSCORE', STORE, unpack(all)), redis.call('ZMSCORE', RETRY, unpack(all))}
end

-- `new`: how many of them did not merge. In full, '' says that the content is the id.
local function note_all(new)
  local inline, due, items, sent = {}, {}, nil, nil
  if new == n then
    items, sent = items_of('sent', 'ns')
  end
  for i, id in ipairs(all) do
    local score = ARGV[FIRST + i * 2 - 2]
    if KIND == 'range-merge' then
      due[score] = due[score] or string.format('%.0f', now + tonumber(score))
      score = due[score]
    end
    if items then
      items[i * 2 - 1], items[i * 2], inline[i] = id, score, ''
    elseif newer[id] then
      note('merged', 'n-', id, 0, false)
    elseif inline[id] or waited and (waited[1][i] or waited[2][i]) then
      note_sent(id, KIND ~= 'range-merge' and score or nil, true, MERGE ~= 'first' and '')
    else
      inline[id] = true
      note_sent(id, score, false, '')
    end
  end
  if JOURNAL_FULL and sent then
    sent[4] = inline
  end
end

-- Adds before it removes anything: a full server refuses a script only at a first write that adds.
local new = 0
if KIND == 'range-merge' then
  local due, scored = {}, {}
  local retrying = unusual and redis.call('ZMSCORE', RETRY, unpack(all)) or {}
  for i = 1, n do
    local range_ms, id = ARGV[FIRST + i * 2 - 2], ARGV[FIRST + i * 2 - 1]
    if not retrying[i] and not newer[id] then
      due[range_ms] = due[range_ms] or string.format('%.0f', now + tonumber(range_ms))
      scored[#scored + 1] = due[range_ms]
      scored[#scored + 1] = id
    end
  end
  new = #scored > 0 and redis.call('ZADD', STORE, 'NX', unpack(scored)) or 0
elseif next(newer) then
  for i, id in ipairs(all) do
    if not newer[id] then
      new = new + redis.call('ZADD', STORE, ARGV[FIRST + i * 2 - 2], id) - redis.call('ZREM', RETRY, id)
    end
  end
else
  new = redis.call('ZADD', STORE, unpack(ARGV, FIRST))
  if unusual then
    new = new - redis.call('ZREM', RETRY, unpack(all))
  end
end
if #replaced > 0 then
  redis.call('HDEL', BODY, unpack(replaced))
end

count('sent', n)
count('merged', n - new)
if JOURNALING then
  note_all(new)
end
write_counts()
if wake then
  redis.call('PUBLISH', CHANNEL, SLOT)
end
return {new, n - new}
