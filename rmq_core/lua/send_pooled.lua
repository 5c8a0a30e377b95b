-- Sends messages that are more than their id (key, headers, version or a large content) to one slot.
-- KEYS   the slot's first nine keys
-- ARGV   kind, wake channel, slot, merge (latest|first), least value of the batch, allow_past (1|0),
--        then value, id, body, …   body: "<version> <headers length> <headers><content>"
-- reply  {new, merged}; error RMQPAST <ms> when a fixed time has gone by: nothing was sent
--        error RMQJOURNAL <entries> when readers of the journal are too far behind: nothing was sent
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/sending.lua

local FIRST = 7
local n = (#ARGV - FIRST + 1) / 3

local refusal = refused()
if refusal then
  return refusal
end
local wake = head_moves(LEAST)

local new = 0
for i = 1, n do
  local at = FIRST + (i - 1) * 3
  local value, id, body = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local waits = waiting(id)
  local old = redis.call('HGET', BODY, id)
  -- An older version never replaces a newer one, wherever the newer one is.
  if old and version_of(old) > version_of(body) then
    note('merged', 'n-', id, 0, false)
  else
    local keeps = waits and MERGE == 'first'
    if not keeps then
      redis.call('HSET', BODY, id, body)
    end
    note_sent(id, enqueue(id, value, waits), waits, not keeps and body)
    if not waits then
      new = new + 1
    end
  end
end

count('sent', n)
count('merged', n - new)
write_counts()
if wake then
  redis.call('PUBLISH', CHANNEL, SLOT)
end
return {new, n - new}
