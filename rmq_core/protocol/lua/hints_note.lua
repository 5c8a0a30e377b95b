-- Tells a topic's hints what scripts found in slots, where the keys are on several nodes. What was found may arrive late:
-- so only a look at the whole slot takes anything back, and only where nothing newer has been noted.
-- KEYS   heads, due, noted
-- ARGV   timed (1|0), then per slot: slot, when it was found (by the clock of the slot's node), head, next_due_ms ('' none),
--        how (whole: that is all there is; more: something came)
-- reply  how many slots
local timed = ARGV[1] == '1'
-- A clock that was set back must not make the hints deaf for longer.
local STEP_MS = 60000

local function set(key, score, slot)
  if score == '' then
    redis.call('ZREM', key, slot)
  else
    redis.call('ZADD', key, score, slot)
  end
end

-- Removed first: a full server refuses a script whose first write adds.
redis.call('HDEL', KEYS[3], '')
for i = 2, #ARGV, 5 do
  local slot, at, head, next_due_ms, how = unpack(ARGV, i, i + 4)
  local age = tonumber(at) - tonumber(redis.call('HGET', KEYS[3], slot) or 0)
  local newer = age > 0 or age < -STEP_MS
  if how == 'whole' and newer then
    set(KEYS[1], head, slot)
    set(KEYS[2], next_due_ms, slot)
  else
    if head ~= '' then
      redis.call('ZADD', KEYS[1], timed and 'LT' or 'GT', head, slot)
    end
    if next_due_ms ~= '' then
      redis.call('ZADD', KEYS[2], 'LT', next_due_ms, slot)
    end
  end
  if newer then
    if how == 'whole' and head == '' and next_due_ms == '' then
      redis.call('HDEL', KEYS[3], slot)
    else
      redis.call('HSET', KEYS[3], slot, at)
    end
  end
end
return (#ARGV - 1) / 5
