-- What a hold keeps back waits in retry with a score that no time reaches: HELD_FROM, the number of its hold times SHIFT,
-- its failures. Where it has not failed, `priority` keeps its score in the store, and so its place.
-- Where a slot has no holds, and its topic makes none, nothing of this is there. Needs hold_marks, policy, bodies,
-- returning.
local is_over, write_holds, set_aside, without_held, lift_over, keeps_all_back, new_hold, lift_one

if HOLDS or LISTS_HOLDS then
  -- So many slot bases of a slot wait for one that failed; what fails beyond is not waited for.
  local FAILED_MOST = 256

  local held_basis = limits.basis_of

  -- When a message expires; nil: never.
  local function expires_ms(body)
    return tonumber(body and string.match(body, '^\3e(%d+)') or nil)
  end

  -- Whether one that failed is done, or dead, or has expired before its next try. What merges may have moved its end.
  local function has_ended(id, timed_out)
    if redis.call('ZSCORE', PREPARE, id) then
      return false
    elseif not waiting(id) then
      return true
    end
    local ends_ms = timed_out and expires_ms(redis.call('HGET', BODY, id))
    return ends_ms and ends_ms <= now
  end

  -- Its time is over, or somebody has lifted it, or what it waits for has ended, or nothing waits: what it keeps back
  -- goes on.
  function is_over(hold)
    local timed_out = hold.until_ms > 0 and hold.until_ms <= now
    if hold.kind == 'f' then
      return has_ended(hold.note, timed_out)
    end
    return timed_out
      or hold.kind == 't' and not (limits.held and limits.held('t' .. hold.key))
      or hold.kind == 'o' and not (ORDER and redis.call('EXISTS', ORDER_WAITS) == 1)
      or hold.kind == 'k' and not (limits.is_key_limit(hold) and redis.call('EXISTS', ORDER_WAITS) == 1)
  end

  -- Lists the holds anew. Removed first: a full server refuses a script whose first write adds.
  function write_holds(holds)
    local shape = string.gsub(marks[2] or SHAPE, '^' .. HELD_FORMAT, '')
    HOLDS = holds
    redis.call('HDEL', STATS, 'holds')
    if #holds == 0 then
      redis.call('HSET', STATS, 'shape', shape)
      return
    end
    local parts = {}
    for i, hold in ipairs(holds) do
      parts[i] = table.concat({
        hold.number, hold.kind, ms_text(hold.since_ms), ms_text(hold.until_ms), #hold.key, #hold.note,
        hold.key .. hold.note,
      }, ' ')
    end
    redis.call('HSET', STATS, 'holds', table.concat(parts), 'shape', HELD_FORMAT .. shape)
  end

  function new_hold(kind, key, wait_ms, note_text)
    local holds, number, since_ms = HOLDS or {}, 0, now
    for _, hold in ipairs(holds) do
      number = math.max(number, hold.number)
      since_ms = math.max(since_ms, hold.since_ms + 1) -- they are told apart by it
    end
    local until_ms = wait_ms and now + wait_ms or 0
    local made = {number = number + 1, kind = kind, since_ms = since_ms, until_ms = until_ms, key = key, note = note_text}
    holds[#holds + 1] = made
    write_holds(holds)
    return made
  end

  -- Moves {id, score in the store, …} to where they wait; `numbers`: of the hold of each.
  function set_aside(found, numbers)
    local ids, moved, places = {}, {}, {}
    for i, number in ipairs(numbers) do
      local id, score = found[i * 2 - 1], found[i * 2]
      local failures = failures_of(tonumber(score))
      ids[i] = id
      moved[i * 2 - 1], moved[i * 2] = ms_text(HELD_FROM + number * SHIFT + failures), id
      if failures == 0 then
        places[#places + 1] = id
        places[#places + 1] = score
      end
    end
    redis.call('ZREM', STORE, unpack(ids))
    redis.call('ZADD', RETRY, unpack(moved))
    if #places > 0 then
      remember_priorities(places)
    end
    count('held', #ids)
    for i, id in ipairs(ids) do
      note('held', 'sr', id, tonumber(moved[i * 2 - 1]))
    end
  end

  -- The number of the hold that keeps a message back; nil: none does.
  local function hold_of(id, body)
    local basis
    for _, hold in ipairs(HOLDS) do
      -- Those of failures that are over have just been lifted: to ask again would cost much for each message.
      if hold.kind ~= 't' and hold.kind ~= 'k' and (hold.kind == 'f' or not is_over(hold)) then
        basis = hold.kind ~= 'i' and (basis or held_basis(id, body)) or basis
        if hold.key == (hold.kind ~= 'i' and basis or id) and not (hold.kind == 'f' and hold.note == id) then
          return hold.number
        end
      end
    end
    return nil
  end

  -- Sets aside those of the found that are held. Returns the others, their bodies, and how many were.
  function without_held(found, bodies)
    local held, numbers, left, left_bodies = {}, {}, {}, {}
    for i = 1, #found / 2 do
      local id, score, number = found[i * 2 - 1], found[i * 2], hold_of(found[i * 2 - 1], bodies[i])
      local to = number and held or left
      to[#to + 1] = id
      to[#to + 1] = score
      if number then
        numbers[#numbers + 1] = number
      elseif #bodies > 0 then
        left_bodies[#left_bodies + 1] = bodies[i]
      end
    end
    if #numbers == 0 then
      return found, bodies, 0
    end
    set_aside(held, numbers)
    return left, left_bodies, #numbers
  end

  -- Back to its place, from that score in retry.
  function lift_one(id, score)
    local place = redis.call('HGET', PRIORITY, id)
    redis.call('ZREM', RETRY, id)
    if place and score % SHIFT == 0 then
      forget_priority(id)
    end
    back_to_store(id, place_of_held(id, score, place), 'lifted', 'r')
  end

  -- Whether another hold keeps back what waits for room of its key: then the marks are of that one.
  local function waits_for_keys(ended)
    for _, hold in ipairs(HOLDS) do
      if hold.kind == 'k' and hold.number ~= ended.number then
        return true
      end
    end
    return false
  end

  -- Brings back, each to its place, at most `most` of what is kept by holds that are over; those that keep nothing more
  -- are gone then. `kind`: of such holds alone. Returns how many came back.
  function lift_over(most, kind)
    local moved, left = 0, {}
    for _, hold in ipairs(HOLDS) do
      local room = most - moved
      if room == 0 or kind and hold.kind ~= kind or not is_over(hold) then
        left[#left + 1] = hold
      else
        local low = HELD_FROM + hold.number * SHIFT
        local from, to = ms_text(low), ms_text(low + SHIFT - 1)
        local found = redis.call('ZRANGEBYSCORE', RETRY, from, to, 'WITHSCORES', 'LIMIT', 0, room)
        for i = 1, #found, 2 do
          lift_one(found[i], tonumber(found[i + 1]))
        end
        moved = moved + #found / 2
        if #found == room * 2 and redis.call('ZCOUNT', RETRY, from, to) > 0 then
          left[#left + 1] = hold
        elseif hold.kind == 'o' or hold.kind == 'k' and not (limits.of_a_key and waits_for_keys(hold)) then
          redis.call('UNLINK', ORDER_WAITS, ORDER_SINCE)
        end
      end
    end
    if moved > 0 then
      count('lifted', moved)
    end
    if #left < #HOLDS then
      write_holds(left)
    end
    return moved
  end

  -- Whether nothing of the slot is in flight or waits for its next try, but for what is kept back.
  function keeps_all_back()
    return redis.call('EXISTS', PREPARE) == 0 and redis.call('ZCOUNT', RETRY, '-inf', '(' .. ms_text(HELD_FROM)) == 0
  end

  if WAITS then
    -- The message has failed and waits for its next try: until it is done, or dead, the others of its slot basis wait.
    function wait_behind(id)
      local body = redis.call('HGET', BODY, id)
      local basis, ends_ms = held_basis(id, body), expires_ms(body)
      if basis == id then
        return -- its sender gave none: no other belongs to it
      end
      local failed = 0
      for _, hold in ipairs(HOLDS or {}) do
        if hold.kind == 'f' then
          if hold.key == basis then
            return
          end
          failed = failed + 1
        end
      end
      if failed < FAILED_MOST then
        new_hold('f', basis, ends_ms and ends_ms - now, id)
      end
    end
  end
end
-- include shared/key_limit.lua
