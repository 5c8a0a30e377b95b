-- The places of priority topics: a score rounded up is the priority, and the slot's running number counts down from it, so
-- that of equals the first comes first. `rmq_core/model/scores.py` tells the arithmetic.
local PLACES_PER_PRIORITY = 4294967296

-- The number behind which those of `n` messages run; call before anything is removed: it may be refused for memory. What
-- was sent counts with it: so a plain send has its number from the counter that it raises anyway.
local function number_places(n)
  return (redis.call('HGET', STATS, 'sent') or 0) + redis.call('HINCRBY', STATS, 'placed', n) - n
end

-- Something has a place that was given elsewhere, as on a server that was lost: what comes from now on comes behind it.
local function number_after(score)
  local used = (math.ceil(score) - score) * PLACES_PER_PRIORITY
  local behind = used - (redis.call('HGET', STATS, 'sent') or 0) - (redis.call('HGET', STATS, 'placed') or 0)
  if behind > 0 then
    redis.call('HINCRBY', STATS, 'placed', string.format('%.0f', behind))
  end
end

local function priority_place(priority, number)
  return priority - (number % PLACES_PER_PRIORITY) / PLACES_PER_PRIORITY
end

-- Where tenants take turns, what waits stands in the lane of its tenant, see shared/lanes.lua: this is its score without
-- that.
local function plain_of(score)
  score = tonumber(score)
  local plain = score > 4398046511104 and (score % 4398046511104) / PLACES_PER_PRIORITY or 0
  return plain > RETRIED_MAX and plain <= 1023 and plain or score -- else of a priority that earlier releases accepted
end

local function priority_of(score)
  return math.ceil(plain_of(score))
end
