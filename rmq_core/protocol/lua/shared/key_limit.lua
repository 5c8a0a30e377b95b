-- So many messages of a slot basis are in flight at once (`key_concurrency`). What a take meets beyond is set aside by a hold of
-- the kind 'k'; as many of a basis as have room are back in the store, the first ones first. So others of the slot go on, and each
-- message is set aside once and brought back once. Needs key_marks, holds.
if limits.of_a_key then (function()
  local BODIES_AT_ONCE, MARKS_AT_ONCE, LOOKED_MOST, LOOK_MS, AHEAD = 32, 100, 1000, 1000, 250
  local PLACE_LENGTH = 28
  local flights, looked = nil, {}

  local function in_flight_of(basis)
    if not flights then
      flights = {}
      local ids = redis.call('ZRANGE', PREPARE, 0, -1)
      for first = 1, #ids, BODIES_AT_ONCE do
        local some = {unpack(ids, first, math.min(#ids, first + BODIES_AT_ONCE - 1))}
        for i, body in ipairs(limits.bodies_in_flight(some)) do
          local its = limits.basis_of(some[i], body)
          flights[its] = (flights[its] or 0) + 1
        end
      end
    end
    return flights[basis] or 0
  end

  -- Text that sorts as a slot hands out: what has failed first, then by due time; or by priority, from behind.
  local function place_text(score)
    score = TIMED and tonumber(score) or plain_of(score)
    if not TIMED and score <= RETRIED_MAX then
      score = RETRIED_MAX + 1 - score
    end
    return string.format('%028.12f', score)
  end

  local function mark_of(basis, id, score)
    return #basis .. ':' .. basis .. place_text(score) .. id
  end

  local function first_marks(basis, offset, most)
    local from, till = '[' .. #basis .. ':' .. basis .. '0', '(' .. #basis .. ':' .. basis .. ':'
    if TIMED then
      return redis.call('ZRANGEBYLEX', ORDER_WAITS, from, till, 'LIMIT', offset, most)
    end
    return redis.call('ZREVRANGEBYLEX', ORDER_WAITS, till, from, 'LIMIT', offset, most)
  end

  local function is_ours(number)
    for _, hold in ipairs(HOLDS or {}) do
      if hold.kind == 'k' and hold.number == number then
        return true
      end
    end
    return false
  end

  -- Where a marked message is: its place, and its score in retry where it waits; nil: neither there nor back.
  local function found_at(id)
    local score = tonumber(redis.call('ZSCORE', RETRY, id) or nil)
    if not score then
      return redis.call('ZSCORE', STORE, id) or nil
    elseif score < HELD_FROM or not is_ours(math.floor((score - HELD_FROM) / SHIFT)) then
      return nil
    end
    local failures = score % SHIFT
    return failures > 0 and retries_left(failures) or redis.call('HGET', PRIORITY, id) or nil, score
  end

  -- Sees to it that the first of a basis, as many as have room, are in the store. Returns how many came back.
  local function look(basis)
    if looked[basis] then
      return 0
    end
    looked[basis] = true
    local room, back, came, seen = limits.of_a_key - in_flight_of(basis), 0, 0, 0
    local marks = first_marks(basis, 0, math.max(1, math.min(room, MARKS_AT_ONCE)))
    local some = #marks > 0
    while back < room and #marks > 0 and seen < LOOKED_MOST do
      local moved = false
      for _, mark in ipairs(marks) do
        local id = string.sub(mark, #tostring(#basis) + 1 + #basis + PLACE_LENGTH + 1)
        local place, held = found_at(id)
        local now_of = place and limits.basis_of(id, redis.call('HGET', BODY, id))
        if place and mark == mark_of(now_of, id, place) then
          if held then
            lift_one(id, held)
            came = came + 1
          end
          back = back + 1
        else
          redis.call('ZREM', ORDER_WAITS, mark)
          if held and place then -- it was given another place, or is of another basis, meanwhile
            redis.call('ZADD', ORDER_WAITS, 0, mark_of(now_of, id, place))
            if now_of == basis then
              moved = true
            else
              redis.call('ZADD', ORDER_SINCE, 0, now_of)
            end
          end
        end
      end
      seen = seen + #marks
      back = moved and 0 or back -- it may be before those that were looked at
      marks = first_marks(basis, back, math.min(room - back, MARKS_AT_ONCE))
      some = some and (back > 0 or #marks > 0)
    end
    if some then
      -- Whoever cancels one that is back tells nobody: so often it is looked for, of many more seldom.
      local look_ms = now + LOOK_MS + redis.call('ZCARD', ORDER_SINCE)
      redis.call('ZADD', ORDER_SINCE, ms_text(look_ms), basis)
    else
      redis.call('ZREM', ORDER_SINCE, basis)
    end
    if came > 0 then
      count('lifted', came)
    end
    return came
  end

  -- Looks after bases of which something has left, and those not looked at for long; at most so many. Returns how many
  -- messages came back.
  function limits.look_after_keys(most)
    local came = 0
    for _, basis in ipairs(redis.call('ZRANGEBYSCORE', ORDER_SINCE, '-inf', ms_text(now), 'LIMIT', 0, most)) do
      came = came + look(basis)
    end
    return came
  end

  local function wait(over, bases)
    local number, numbers, marks, looks = nil, {}, {}, {}
    for _, hold in ipairs(HOLDS or {}) do
      number = hold.kind == 'k' and limits.is_key_limit(hold) and hold.number or number
    end
    number = number or new_hold('k', '', nil, ms_text(limits.of_a_key)).number
    for i, basis in ipairs(bases) do
      numbers[i] = number
      marks[i * 2 - 1], marks[i * 2] = 0, mark_of(basis, over[i * 2 - 1], over[i * 2])
      looks[i * 2 - 1], looks[i * 2] = ms_text(now + LOOK_MS), basis
    end
    set_aside(over, numbers)
    redis.call('ZADD', ORDER_WAITS, unpack(marks))
    redis.call('ZADD', ORDER_SINCE, 'NX', unpack(looks))
  end

  -- Sets aside those of the found that have no room, and with them others of their bases that are ready, or a take would
  -- meet these a few at a time. Returns those that have, their bodies, and how many were set aside, or came back.
  function limits.within_keys(found, bodies, bytes)
    if #bodies == 0 then
      return found, bodies, 0
    end
    local came, bases = 0, {}
    for i = 1, #found / 2 do
      bases[i] = limits.basis_of(found[i * 2 - 1], bodies[i])
      if limits.make_room then
        came = came + look(bases[i]) -- what has waited may come before it
      end
    end
    if came > 0 then
      return {}, {}, came
    end
    local used, stays, over, over_bases, left, left_bodies = {}, {}, {}, {}, {}, {}
    local function has_room(basis)
      return in_flight_of(basis) + (used[basis] or 0) < limits.of_a_key
    end
    local function put_over(id, score, basis)
      over[#over + 1], over_bases[#over_bases + 1] = id, basis
      over[#over + 1] = score
      stays[id] = true
    end
    for i = 1, #found / 2 do
      local id, score, basis = found[i * 2 - 1], found[i * 2], bases[i]
      if has_room(basis) then
        used[basis] = (used[basis] or 0) + 1
        stays[id] = true
        left[#left + 1], left_bodies[#left_bodies + 1] = id, bodies[i]
        left[#left + 1] = score
      else
        put_over(id, score, basis)
      end
    end
    if #over == 0 then
      return found, bodies, 0
    end
    local others, other_bodies = limits.ready(AHEAD, bytes)
    for i, body in ipairs(other_bodies) do
      local id, score = others[i * 2 - 1], others[i * 2]
      local basis = not stays[id] and limits.basis_of(id, body)
      if basis and not has_room(basis) then
        put_over(id, score, basis)
      end
    end
    wait(over, over_bases)
    return left, left_bodies, #over / 2
  end

  -- They have left the store.
  function limits.keys_taken(taken, bodies)
    local marks = {}
    for i = 1, limits.make_room and #bodies or 0 do
      local id = taken[i * 2 - 1]
      marks[i] = mark_of(limits.basis_of(id, bodies[i]), id, taken[i * 2])
    end
    if #marks > 0 then
      redis.call('ZREM', ORDER_WAITS, unpack(marks))
    end
  end
end)() end
