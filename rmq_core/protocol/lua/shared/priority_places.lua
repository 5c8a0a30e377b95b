-- The places of priority topics: a score rounded up is the priority, and the slot's running number counts down from it, so
-- that of equals the first comes first. `rmq_core/model/scores.py` tells the arithmetic.
local PLACES_PER_PRIORITY = 4294967296

-- The running number of the first of `n` messages; call before anything is removed: it may be refused for memory.
local function number_places(n)
  return redis.call('HINCRBY', STATS, 'placed', n) - n
end

local function priority_place(priority, number)
  return priority - (number % PLACES_PER_PRIORITY) / PLACES_PER_PRIORITY
end

local function priority_of(score)
  return math.ceil(tonumber(score))
end
