-- Sends messages to one slot, of which more must be known than who waits: on a topic with a max_backlog new ones need room in
-- the slot's quota; what has a period is a duplicate where its id was accepted within that, whatever has become of it; on a
-- topic that remembers versions, one below what was handed out is outdated.
-- KEYS   the slot's keys
-- ARGV   kind, wake channel, slot, merge (latest|first), shape, edge of the batch (earliest time, or highest priority),
--        past (as in send.lua), version of the definition ('': any number may wait), how long versions that were handed
--        out are remembered (ms; 0: not), first version where they are handed out in order ('': they are not), then value, id,
--        body, period (ms; 0: none), mark (at most 16 bytes that stand for the id), …   body as for send_pooled.lua, '' for an inline
--        message
-- reply  {new, merged, head and time for the topic's hint (false: none, or noted already), {positions (1-based) of those
--        there was no room for, …}, {position of a duplicate, when its id was accepted, …},
--        {position of an outdated one, the version that was handed out, …}}
--        errors as of send_pooled.lua: nothing was sent
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/bodies.lua
-- include shared/records.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/sending.lua
-- include shared/merging.lua
-- include shared/turns.lua
-- include shared/remembering.lua
-- include shared/load.lua
-- include shared/lanes.lua
local VERSIONS_FOR = tonumber(ARGV[9])
-- include shared/versions.lua

local FIRST, WIDTH = 11, 5
local n = (#ARGV - FIRST + 1) / WIDTH

-- Adds before it removes anything: a full server refuses a script only at a first write that adds.
redis.call('HINCRBY', STATS, 'sent', 0)
local number = KIND == 'priority' and number_places(n)

-- A quota given under an older definition counts for nothing: its limit may have been another.
local room = ARGV[8] == '' and math.huge or 0
local version, _, limit = string.match(ARGV[8] ~= '' and redis.call('GET', QUOTA) or '', '^(%d+) (%d+) (%d+)$')
if version and tonumber(version) >= tonumber(ARGV[8]) then
  room = tonumber(limit) - redis.call('ZCARD', STORE) - redis.call('ZCARD', RETRY)
end

local new, full, known, outdone = 0, {}, {}, {}

-- Says whether it was accepted.
local function send_one(position, value, id, body)
  local waits, old = meets(id)
  body = with_end(id, body, value, waits)
  -- An older version never replaces a newer one that waits or is in flight: it merges into that.
  if outdated(id, old, body, waits) then
    note('merged', 'n-', id, 0, false)
    return true
  elseif not waits and room <= 0 then
    full[#full + 1] = position
    return false
  end
  local keeps = waits and not LATEST
  if not keeps then
    replace_body(id, old, body, waits)
    if FAIR and waits then
      lanes.leave(id, old, body)
    end
  end
  note_sent(id, enqueue(id, value, number and number + position), waits, not keeps and body)
  note_load('s', body)
  if not waits then
    new = new + 1
    room = room - 1
  end
  return true
end

local handed_out = {}
if outdone_by then
  local ids, bodies = {}, {}
  for i = 1, n do
    ids[i], bodies[i] = ARGV[FIRST + (i - 1) * WIDTH + 1], ARGV[FIRST + (i - 1) * WIDTH + 2]
  end
  handed_out = outdone_by(ids, bodies)
end
if ARGV[10] ~= '' then
-- include shared/version_of.lua
  for i = 1, n do
    local key = string.match(ARGV[FIRST + (i - 1) * WIDTH + 1], '^(.+)#%d+$')
    local last = key and redis.call('HGET', ORDER_LAST, key) or ARGV[10] - 1
    local version = version_of(ARGV[FIRST + (i - 1) * WIDTH + 2])
    if key and version > 0 and tonumber(last) >= version then
      handed_out[i] = tonumber(last)
    end
  end
end
for i = 1, n do
  local at = FIRST + (i - 1) * WIDTH
  local value, id, period, mark = ARGV[at] + later, ARGV[at + 1], tonumber(ARGV[at + 3]), ARGV[at + 4]
  local accepted_ms = period > 0 and accepted_before(mark, period)
  if accepted_ms then
    note('duplicate', 'n-', id, accepted_ms)
    known[#known + 1] = i
    known[#known + 1] = accepted_ms
  elseif handed_out[i] then
    note('outdated', 'n-', id, handed_out[i])
    outdone[#outdone + 1] = i
    outdone[#outdone + 1] = handed_out[i]
  elseif send_one(i, value, id, ARGV[at + 2]) and period > 0 then
    remember(mark, period)
  end
end

local accepted = n - #full - #known / 2 - #outdone / 2
count('sent', n - #full)
count('duplicate', #known / 2)
count('outdated', #outdone / 2)
count('merged', accepted - new)
write_load()
write_counts()
if accepted == 0 then
  head = nil
elseif FAIR then
  local ids = {}
  for i = 1, n do
    ids[i] = ARGV[FIRST + (i - 1) * WIDTH + 1]
  end
  head = lanes.give(0, ids) or head and lanes.head()
end
-- include shared/announcing.lua
return {new, accepted - new, noted, full, known, outdone}
