-- What a take does with versions that have an order. Needs order, lapsing, holds.
if ORDER then
  local begun = {}

  -- Position → key, version, the one handled last; of those that have an order.
  local function placed(found, bodies)
    local keys, versions, asked, positions = {}, {}, {}, {}
    for i = 1, #found / 2 do
      keys[i], versions[i] = ORDER.of(found[i * 2 - 1], bodies[i])
      if keys[i] then
        asked[#asked + 1], positions[#positions + 1] = keys[i], i
      end
    end
    local last = {}
    for at, value in ipairs(#asked > 0 and redis.call('HMGET', ORDER_LAST, unpack(asked)) or {}) do
      local key, version = asked[at], versions[positions[at]]
      value = tonumber(value or nil) or ORDER.first > 0 and ORDER.first - 1 or begun[key]
      if not value then
        value = version - 1
        begun[key] = value
      end
      last[positions[at]] = value
    end
    return keys, versions, last
  end

  local function wait(early, keys, versions)
    local number, numbers, marks, since = nil, {}, {}, {}
    for _, hold in ipairs(HOLDS or {}) do
      number = hold.kind == 'o' and hold.number or number
    end
    number = number or new_hold('o', '', nil, '').number
    for i, key in ipairs(keys) do
      numbers[i] = number
      marks[i * 2 - 1], marks[i * 2] = 0, ORDER.wait_mark(key, versions[i])
      since[i * 2 - 1], since[i * 2] = now, key
    end
    set_aside(early, numbers)
    redis.call('ZADD', ORDER_WAITS, unpack(marks))
    redis.call('ZADD', ORDER_SINCE, 'NX', unpack(since))
  end

  -- Ends those of the found that are outdated, sets aside those whose turn it is not. Returns the others, their bodies, and how
  -- many that were.
  function ORDER.in_their_turn(found, bodies)
    if #bodies == 0 then
      return found, bodies, 0
    end
    local keys, versions, last = placed(found, bodies)
    local over, early, early_keys, early_versions, left, left_bodies = {}, {}, {}, {}, {}, {}
    for i = 1, #found / 2 do
      local id, score = found[i * 2 - 1], found[i * 2]
      if keys[i] and versions[i] <= last[i] then
        over[#over + 1] = id
      elseif keys[i] and versions[i] > last[i] + 1 then
        early[#early + 1] = id
        early[#early + 1] = score
        early_keys[#early_keys + 1], early_versions[#early_versions + 1] = keys[i], versions[i]
      else
        left[#left + 1], left_bodies[#left_bodies + 1] = id, bodies[i]
        left[#left + 1] = score
      end
    end
    if #over > 0 then
      lapse(over, 's', 'outdated')
    end
    if #early > 0 then
      wait(early, early_keys, early_versions)
    end
    return left, left_bodies, #over + #early / 2
  end

  -- The first of their keys are handed out now. Not as the first write: a full server refuses one that adds.
  function ORDER.begin()
    for key, last in pairs(begun) do
      redis.call('HSETNX', ORDER_LAST, key, ms_text(last))
    end
  end
end
