-- Sends messages to one slot of a topic with a max_backlog: duplicates merge, new ones need room in the slot's allowance.
-- KEYS   the slot's keys
-- ARGV   kind, wake channel, slot, merge (latest|first), least value of the batch, allow_past (1|0),
--        version of the definition, then value, id, body, …   body as for send_pooled.lua, '' for an inline message
-- reply  {new, merged, positions (1-based) of those there was no room for, …}
--        error RMQPAST <ms> when a fixed time has gone by: nothing was sent
--        error RMQJOURNAL <entries> when readers of the journal are too far behind: nothing was sent
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/sending.lua

local FIRST = 8
local n = (#ARGV - FIRST + 1) / 3

local refusal = refused()
if refusal then
  return refusal
end
local wake = head_moves(LEAST)

-- An allowance given under an older definition counts for nothing: its limit may have been another.
local room = 0
local version, _, limit = string.match(redis.call('GET', KEYS[16]) or '', '^(%d+) (%d+) (%d+)$')
if version and tonumber(version) >= tonumber(ARGV[7]) then
  room = tonumber(limit) - redis.call('ZCARD', STORE) - redis.call('ZCARD', RETRY)
end

local new, reply = 0, {0, 0}
for i = 1, n do
  local at = FIRST + (i - 1) * 3
  local value, id, body = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local waits = waiting(id)
  local old = redis.call('HGET', BODY, id)
  -- An older version never replaces a newer one, wherever the newer one is: it merges into that.
  local outdated = old and version_of(old) > version_of(body)
  if not outdated and not waits and room <= 0 then
    reply[#reply + 1] = i
  elseif not outdated then
    local keeps = waits and MERGE == 'first'
    if body ~= '' and not keeps then
      redis.call('HSET', BODY, id, body)
    end
    note_sent(id, enqueue(id, value, waits), waits, not keeps and body)
    if body == '' and old and not keeps then
      redis.call('HDEL', BODY, id)
    end
    if not waits then
      new = new + 1
      room = room - 1
    end
  else
    note('merged', 'n-', id, 0, false)
  end
end

local accepted = n - (#reply - 2)
reply[1], reply[2] = new, accepted - new
count('sent', accepted)
count('merged', accepted - new)
write_counts()
if wake and new > 0 then
  redis.call('PUBLISH', CHANNEL, SLOT)
end
return reply
