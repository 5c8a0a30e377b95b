-- Puts copies of messages back into a slot that has lost them: each that no queue has by now, and nothing else changes.
-- KEYS   the slot's keys, and behind them what is known of the restore that is under way (`SlotKeys.restoring`)
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom
--        wake channel, slot, since when (ms) what was taken may be a newer send, beside which nothing that waited is put
--        restore, its task (where nobody else puts the same: both ''), how many messages of it come before these
--        then per message, each once: id, a letter for every copy it had (w: waited, f: in flight, d: dead, -: not to be
--        put, it counts as there), and each of them as it is to be put, packed as in shared/records.lua
-- reply  how many copies were put back, how many were there; error RMQSHAPE <shape>: nothing was done; nil: neither, for
--        the task has come to somewhere else, or another restore is under way
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/bodies.lua
-- include shared/records.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/clusters.lua
-- include shared/origins.lua
-- include shared/trash.lua
-- include shared/returning.lua
-- include shared/due.lua
-- include shared/lanes.lua
-- include shared/hints.lua
-- include shared/setting_right.lua

local unfit = misfit(SHAPE)
if unfit then
  return unfit
end
local NEWS_FROM = tonumber(ARGV[POLICY + 3]) * SHIFT

-- Of a task several attempts may be at work at once, each as if it were alone.
local task = {key = KEYS[#KEYS], restore = ARGV[POLICY + 4], number = ARGV[POLICY + 5], before = ARGV[POLICY + 6]}
if task.restore ~= '' then
  local known = redis.call('HMGET', task.key, 'restore', task.number)
  task.done, task.back, task.there = string.match(known[2] or '0 0 0', '^(%d+) (%d+) (%d+)$')
  if known[1] ~= task.restore or task.done ~= task.before then
    return nil
  end
end

local ids, had, first = {}, {}, {}
do
  local at = POLICY + 7
  while at <= #ARGV do
    local i = #ids + 1
    ids[i], had[i], first[i] = ARGV[at], ARGV[at + 1], at + 2
    at = at + 2 + #had[i]
  end
end

-- Where the messages are: what of the queues is empty need not be asked.
local live = {}
for _, letter in ipairs(QUEUES) do
  if redis.call('EXISTS', QUEUE_OF[letter]) == 1 then
    live[letter] = redis.call('ZMSCORE', QUEUE_OF[letter], unpack(ids))
  end
end

local function scores_at(i)
  local scores
  for letter, found in pairs(live) do
    if found[i] then
      scores = scores or {}
      scores[letter] = tonumber(found[i])
    end
  end
  return scores
end

local function is_there(letter, scores, waits)
  if letter == '-' then
    return true
  elseif letter == 'd' then
    return scores.d
  elseif letter == 'w' then
    return scores.s or scores.r or scores.p and scores.p >= NEWS_FROM
  end
  return waits or scores.s or scores.r or scores.p -- what was in flight waits again, unless it does so already
end

-- Most are nowhere, and had one copy that waits: these are put together.
local into, inline = {s = {}, r = {}}, {}
local bodies, failures, priorities = {}, {}, {}

local function add(list, id, value)
  list[#list + 1] = id
  list[#list + 1] = value
end

local function put_alone(id, copy)
  local score, body = copy.score, copy.body or ''
  if copy.queue == 's' and not TIMED then
    score = plain_of(score)
  end
  add(into[copy.queue], score, id)
  if body ~= '' then
    add(bodies, id, body)
  else
    inline[#inline + 1] = id
  end
  if copy.failed then
    add(failures, id, copy.failed)
  end
  if copy.priority then
    add(priorities, id, copy.priority)
  end
  note('erased', '--', id, 0)
  note_back(id, copy.queue, score, copy.failed, body)
end

local back, present, repaired, alone = 0, 0, 0, 0

local function put_beside(i, scores)
  local copies, waits, there = {}, string.find(had[i], 'w', 1, true), 0
  for _, letter in ipairs(QUEUES) do
    if scores[letter] then
      copies[#copies + 1] = {queue = letter, score = scores[letter], keeps_failed = true, keeps_body = true}
      there = there + 1
    end
  end
  for k = 1, #had[i] do
    if is_there(string.sub(had[i], k, k), scores, waits) then
      present = present + 1
    else
      copies[#copies + 1] = unpack_record(ARGV[first[i] + k - 1])
    end
  end
  if #copies > there then
    set_right(ids[i], copies, true)
    back, repaired = back + #copies - there, repaired + 1
  end
end

for i, id in ipairs(ids) do
  local scores = scores_at(i)
  local copy = not scores and #had[i] == 1 and had[i] ~= '-' and unpack_record(ARGV[first[i]])
  if copy and into[copy.queue] and copy.score < HELD_FROM then
    put_alone(id, copy)
    alone = alone + 1
  else
    put_beside(i, scores or {})
  end
end
for letter, scored in pairs(into) do
  if #scored > 0 then
    redis.call('ZADD', QUEUE_OF[letter], unpack(scored))
  end
end
if #inline > 0 then
  redis.call('HDEL', BODY, unpack(inline))
end
if #bodies > 0 then
  redis.call('HSET', BODY, unpack(bodies))
end
if #failures > 0 then
  redis.call('HSET', FAILED, unpack(failures))
end
if #priorities > 0 then
  remember_priorities(priorities)
end
for letter, scored in pairs(into) do
  stand_again(letter, scored)
end
count('restored', alone)
count('repaired', alone + repaired)
write_counts()
announce_change()
if task.restore ~= '' then
  redis.call('HSET', task.key, task.number, string.format(
    '%d %d %d', task.done + #ids, task.back + back + alone, task.there + present
  ))
end
return {back + alone, present}
