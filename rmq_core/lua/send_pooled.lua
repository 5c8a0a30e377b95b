-- Sends messages that are more than their id (key, headers, version or a large content) to one slot.
-- KEYS   the slot's first ten keys
-- ARGV   kind, wake channel, slot, merge (latest|first), least value of the batch, allow_past (1|0),
--        then value, id, body, …   body: "<version> <headers length> <headers><content>"
-- reply  {new, merged}; error RMQPAST <ms> when a fixed time has gone by: nothing was sent
-- include shared/slot.lua
-- include shared/sending.lua

local FIRST = 7
local n = (#ARGV - FIRST + 1) / 3

local past = refuse_past()
if past then
  return past
end
local wake = head_moves(LEAST)

local new = 0
for i = 1, n do
  local at = FIRST + (i - 1) * 3
  local value, id, body = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local waits = waiting(id)
  local old = redis.call('HGET', BODY, id)
  -- An older version never replaces a newer one, wherever the newer one is.
  if not (old and version_of(old) > version_of(body)) then
    if not (waits and MERGE == 'first') then
      redis.call('HSET', BODY, id, body)
    end
    if KIND == 'range-merge' then
      if not waits then
        redis.call('ZADD', STORE, now + tonumber(value), id)
      end
    else
      redis.call('ZADD', STORE, value, id)
      redis.call('ZREM', RETRY, id)
    end
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
