-- Sends messages that are more than their id (key, headers, version or a large content) to one slot.
-- KEYS   the slot's first 16 keys
-- ARGV   kind, wake channel, slot, merge (latest|first), shape, edge of the batch (earliest time, or highest priority),
--        past (as in send.lua), then value, id, body, …   body: as `message.encode` makes it
-- reply  their number where all are new and nothing is to be noted, or else
--        {new, merged, head and time for the topic's hint (false: none, or noted already)}
--        error RMQPAST <ms> when a fixed time has gone by, RMQJOURNAL <entries> when readers of the journal are too far
--        behind, RMQSHAPE <shape> when the topic is another one by now: nothing was sent
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/bodies.lua
-- include shared/records.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/sending.lua
-- include shared/merging.lua
-- include shared/load.lua
-- include shared/lanes.lua

local FIRST = 8
local n = (#ARGV - FIRST + 1) / 3

local number = KIND == 'priority' and number_places(n)

local new = 0
for i = 1, n do
  local at = FIRST + (i - 1) * 3
  local value, id = ARGV[at] + later, ARGV[at + 1]
  local waits, old = meets(id)
  local body = with_end(id, ARGV[at + 2], value, waits)
  note_load('s', body)
  -- An older version never replaces a newer one that waits or is in flight.
  if outdated(id, old, body, waits) then
    note('merged', 'n-', id, 0, false)
  else
    local keeps = waits and not LATEST
    if not keeps then
      replace_body(id, old, body, waits)
      if FAIR and waits then
        lanes.leave(id, old, body)
      end
    end
    note_sent(id, enqueue(id, value, number and number + i), waits, not keeps and body)
    if not waits then
      new = new + 1
    end
  end
end

count('sent', n)
count('merged', n - new)
write_load()
write_counts()
if FAIR then
  local ids = {}
  for i = 1, n do
    ids[i] = ARGV[FIRST + i * 3 - 2]
  end
  head = lanes.give(0, ids) or head and lanes.head()
end
-- include shared/announcing.lua
if new == n and not noted then
  return n
end
return {new, n - new, noted}
