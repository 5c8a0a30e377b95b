-- Sends messages to one slot of a topic with a max_backlog: duplicates merge, new ones need room in the slot's quota.
-- KEYS   the slot's keys
-- ARGV   kind, wake channel, slot, merge (latest|first), shape, edge of the batch (earliest time, or highest priority),
--        past (as in send.lua), version of the definition, then value, id, body, …   body as for send_pooled.lua, ''
--        for an inline message
-- reply  {new, merged, head and time for the topic's hint (false: none, or noted already),
--        positions (1-based) of those there was no room for, …}
--        errors as of send_pooled.lua: nothing was sent
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/bodies.lua
-- include shared/records.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/sending.lua
-- include shared/merging.lua

local FIRST = 9
local n = (#ARGV - FIRST + 1) / 3

local number = KIND == 'priority' and number_places(n)

-- A quota given under an older definition counts for nothing: its limit may have been another.
local room = 0
local version, _, limit = string.match(redis.call('GET', QUOTA) or '', '^(%d+) (%d+) (%d+)$')
if version and tonumber(version) >= tonumber(ARGV[8]) then
  room = tonumber(limit) - redis.call('ZCARD', STORE) - redis.call('ZCARD', RETRY)
end

local new, reply = 0, {0, 0, false}
for i = 1, n do
  local at = FIRST + (i - 1) * 3
  local value, id = ARGV[at] + later, ARGV[at + 1]
  local body, waits, old = with_end(ARGV[at + 2], value), meets(id)
  -- An older version never replaces a newer one that waits or is in flight: it merges into that.
  if outdated(id, old, body, waits) then
    note('merged', 'n-', id, 0, false)
  elseif not waits and room <= 0 then
    reply[#reply + 1] = i
  else
    local keeps = waits and not LATEST
    if not keeps then
      replace_body(id, old, body, waits)
    end
    note_sent(id, enqueue(id, value, number and number + i), waits, not keeps and body)
    if not waits then
      new = new + 1
      room = room - 1
    end
  end
end

local accepted = n - (#reply - 3)
reply[1], reply[2] = new, accepted - new
count('sent', accepted)
count('merged', accepted - new)
write_counts()
if new == 0 then
  head = nil
end
-- include shared/announcing.lua
reply[3] = noted
return reply
