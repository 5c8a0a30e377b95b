-- Ids that were accepted within a period, as marks of at most 16 bytes: mark → ms after the hash began. As the moment stands
-- beside each, an id is remembered for its period to the millisecond. Needs turns.
local newer, older

-- When an id was accepted within `period` ms before now; nil: it was not.
local function accepted_before(mark, period)
  if not newer then
    newer, older = memories(ONCE_A, ONCE_B)
  end
  for _, memory in ipairs({newer, older}) do
    local after = memory.began >= 0 and redis.call('HGET', memory.key, mark)
    if after and memory.began + after + period > now then
      return memory.began + after
    end
  end
  return nil
end

-- Call behind accepted_before.
local function remember(mark, period)
  newer, older = in_turn(newer, older, period)
  redis.call('HSET', newer.key, mark, ms_text(math.max(0, now - newer.began)))
  ends_by_itself(newer, older)
end
