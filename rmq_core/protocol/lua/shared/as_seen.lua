-- Of messages that are named one by one: whether each is the one that was meant, or another one has its id by now.

-- `given`: numbers with commas between ('': not said).
local function numbers_in(given)
  local seen = {}
  for each in string.gmatch(given .. ',', '([^,]*),') do
    seen[#seen + 1] = tonumber(each) or false
  end
  return seen
end

-- `given`: when each of the dead died.
local function deaths_seen(given)
  local seen = numbers_in(given)
  return function(number, died_ms)
    return not seen[number] or seen[number] == tonumber(died_ms)
  end
end

-- `given`: the place in the store, without its lane, of each that waited and had not failed; 0 of one that had. What has
-- failed has another place for each failure, so it may be the one that was meant. Needs priority_places.
local function places_seen(given)
  local seen = numbers_in(given)
  return function(number, id, store, retry)
    local meant, place = seen[number], tonumber(store or nil)
    if not meant or not (store or retry) then
      return true
    elseif retry then
      place = retry - HELD_FROM >= 0 and retry % SHIFT == 0 and tonumber(redis.call('HGET', PRIORITY, id) or nil)
    end
    return not place or place <= RETRIED_MAX or place == meant or plain_of(place) == meant
  end
end
