-- Fair turns of tenants, on priority topics (docs/decisions/311). What waits stands in the lane of its tenant: its score is
-- `lane * LANE + priority * 2^32 - number` (shared/priority_places.lua has it without a lane). LANES holds 't<tenant>' → its
-- turn * LANES_MOST + its lane, and 'f<lane>' for each lane that is free again. TURNS is of the whole topic, on Cluster of
-- the slot: 'v' is the turn that was taken last (there 'at' says when), 't<tenant>' the next turn of whoever has used more.
-- Who comes while nothing of his waits here has the turn that is being taken, and owes nothing but what he has just used.
-- Whether the slot is fair says its mark, '<1 fair, 2 no longer, 0 not> <version> <tenant>=<weight> …'. Needs marks, clock, journal.
local FAIR = LANES and marks[4] and string.byte(marks[4]) == 49 -- 1
local UNFAIR = LANES and marks[4] and string.byte(marks[4]) == 50 -- 2
-- One table and one function, for a script may have 200 locals at most.
local lanes = {}
limits.known = true
-- include shared/tenant_limits.lua

if FAIR or UNFAIR then (function()
  local LANE, PLACES, PRIORITY_MOST = 4398046511104, 4294967296, 1023
  local LANES_MOST, FREE_FROM = 2048, 9007199254738944
  -- The turn of who may have nothing now (shared/tenant_limits.lua): behind all others.
  local PARKED_FROM = FREE_FROM - LANES_MOST
  -- The lane of those for whom there is none, and those of what was taken, of who came anew too.
  local OTHERS_LANE, TAKEN_LANE, TAKEN_NEW_LANE = 2045, 2046, 2047
  -- Who owes nothing and comes anew is put so far before the present turn: he is next in his slot, and before all that
  -- was taken and has not begun, once.
  local NEW = 1048576
  local HEAD = LANE * 2
  local FIRST_HEAD = HEAD + 1
  local COST, GIVEN_LEAST, TURNS_AGAIN, OTHERS = 100, 500, 2199023255552, 't '

  local function text(number)
    return string.format('%.0f', number)
  end

  local function turn_now()
    return tonumber(redis.call('ZSCORE', TURNS, 'v') or NEW)
  end

  local function is_new(turn, now_at)
    return turn < now_at - NEW / 2
  end

  -- What the slot hands out next, as a hint: the lower its turn, the higher; nil: of nobody may anything be. On Cluster turns of two slots tell nothing: the
  -- slot that nobody has taken from for the longest time comes first.
  function lanes.head()
    local first = redis.call('ZRANGE', LANES, 0, 0, 'WITHSCORES')[2]
    if not first or tonumber(first) >= FREE_FROM then
      return HEAD
    elseif FAIR and tonumber(first) >= PARKED_FROM then
      return nil
    end
    local turn = math.floor(first / LANES_MOST)
    if is_new(turn, turn_now()) then
      return FIRST_HEAD
    end
    return HEAD - (HEADS == STORE and tonumber(redis.call('ZSCORE', TURNS, 'at') or 0) or turn)
  end

  local function edges(lane)
    return '(' .. text(lane * LANE), text(lane * LANE + PRIORITY_MOST * PLACES)
  end

  local function leave_if_empty(member, lane)
    if redis.call('ZCOUNT', STORE, edges(lane)) > 0 then
      return false
    end
    redis.call('ZREM', LANES, member)
    if redis.call('ZCOUNT', LANES, '-inf', '(' .. text(FREE_FROM)) == 0 then
      redis.call('UNLINK', LANES)
    elseif lane < OTHERS_LANE then
      redis.call('ZADD', LANES, text(FREE_FROM + lane), 'f' .. text(lane))
    end
    return true
  end

  -- Away with lanes, where tenants no longer take turns: at most `most` messages, and never few.
  function lanes.take_back(most)
    local found = redis.call('ZREVRANGEBYSCORE', STORE, '+inf', '(' .. text(LANE), 'WITHSCORES', 'LIMIT', 0, math.max(most, GIVEN_LEAST))
    local scored = {}
    for i = 1, #found, 2 do
      scored[i] = string.format('%.17g', (found[i + 1] % LANE) / PLACES)
      scored[i + 1] = found[i]
    end
    if #scored > 0 then
      redis.call('ZREM', STORE, found[1]) -- first: a full server refuses a script whose first write adds
      redis.call('ZADD', STORE, unpack(scored))
    else
      redis.call('UNLINK', LANES)
      redis.call('HDEL', STATS, 'fair')
      redis.call('HSET', STATS, 'fair', '0' .. string.sub(marks[4], 2))
    end
  end

  if FAIR then
    local steps, known_lanes = nil, {}
    local chosen = {} -- id → {member, lane, turn}, by the last look

    local function step_of(member)
      if not steps then
        steps = {}
        for name, weight in string.gmatch(marks[4], ' (%S*)=(%d+)') do
          steps['t' .. name] = math.max(1, math.floor(COST / weight))
        end
      end
      return steps[member] or COST
    end

    function lanes.member_of(body)
      return 't' .. (body and string.byte(body) == 3 and string.match(body, '^\3e?%+?%d*t(%S+) ') or '')
    end

    local member_of = lanes.member_of

    -- The number of a lane that nobody has; nil: all are taken.
    local function free_lane()
      local top = redis.call('ZREVRANGE', LANES, 0, 0, 'WITHSCORES')
      if top[2] and tonumber(top[2]) >= FREE_FROM then
        redis.call('ZREM', LANES, top[1])
        return top[2] - FREE_FROM
      end
      local lane = redis.call('ZCARD', LANES) + 1
      return lane < OTHERS_LANE and lane or nil
    end

    -- The lane of a tenant who has something here from now on, and where he had none the hint of it. `sent`: he has just
    -- sent it.
    local function lane_of(member, sent)
      local known = redis.call('ZSCORE', LANES, member)
      if known then
        return known % LANES_MOST
      end
      local lane = free_lane()
      if not lane then -- who comes then shares a lane, and the turns of that
        member, lane = OTHERS, OTHERS_LANE
        if redis.call('ZSCORE', LANES, member) then
          return lane
        end
      end
      local now_at, owed = turn_now(), tonumber(redis.call('ZSCORE', TURNS, member) or 0)
      local turn = owed > now_at and owed <= now_at + COST and owed or now_at
      if sent and turn == now_at then
        turn = now_at - NEW
        redis.call('ZADD', TURNS, text(now_at + 1), member) -- in all his slots together, once
      end
      if limits.left and limits.left(member) == 0 then
        redis.call('ZADD', LANES, text(PARKED_FROM + lane), member)
        return lane, nil
      end
      redis.call('ZADD', LANES, text(turn * LANES_MOST + lane), member)
      return lane, turn < now_at and FIRST_HEAD or HEAD - turn
    end

    -- Those of the ids that wait without a lane, with their scores.
    local function without_lane(ids)
      local found = {}
      for i, score in ipairs(redis.call('ZMSCORE', STORE, unpack(ids))) do
        if score and tonumber(score) > RETRIED_MAX and tonumber(score) <= LANE then
          found[#found + 1] = ids[i]
          found[#found + 1] = score
        end
      end
      return found
    end

    -- Puts what has no lane into that of its tenant: those that were sent; else the best, at most `most`, and never few.
    -- Returns the best hint of tenants who had no lane; nil: they all had. A priority for which a lane has no room becomes the
    -- highest that it has, which is told: by the caller with all that it has done, where that is still `unwritten`, or here.
    function lanes.give(most, sent, unwritten)
      local found = sent and without_lane(sent) or redis.call(
        'ZREVRANGEBYSCORE', STORE, text(LANE), '(' .. RETRIED_MAX, 'WITHSCORES', 'LIMIT', 0, math.max(most, GIVEN_LEAST)
      )
      if #found == 0 then
        return nil
      end
      local ids, scored, lowered, best = {}, {}, {}, nil
      for i = 1, #found, 2 do
        ids[#ids + 1] = found[i]
      end
      local bodies = redis.call('HMGET', BODY, unpack(ids))
      redis.call('ZREM', STORE, ids[1]) -- first: a full server refuses a script whose first write adds
      for i, id in ipairs(ids) do
        local member, head = member_of(bodies[i]), nil
        if not known_lanes[member] then
          known_lanes[member], head = lane_of(member, sent)
          best = math.max(best or head or 0, head or 0)
        end
        local score = tonumber(found[i * 2])
        local priority = math.ceil(score)
        local number = math.floor((priority - score) * PLACES + 0.5)
        if priority > PRIORITY_MOST then
          lowered[#lowered + 1] = {id, PRIORITY_MOST - number / PLACES}
        end
        scored[i * 2 - 1] = text(known_lanes[member] * LANE + math.min(PRIORITY_MOST, priority) * PLACES - number)
        scored[i * 2] = id
      end
      redis.call('ZADD', STORE, unpack(scored))
      if #lowered > 0 and JOURNALING and not unwritten then
        begin_entry()
      end
      for _, each in ipairs(lowered) do
        note('rescheduled', 'ss', each[1], each[2])
      end
      if #lowered > 0 and unwritten then
        count('rescheduled', #lowered)
      elseif #lowered > 0 then
        redis.call('HINCRBY', STATS, 'rescheduled', #lowered)
        if write_journal then
          write_journal()
        end
      end
      return best ~= 0 and best or nil
    end

    -- A message has another body now: it goes to the lane of that one's tenant.
    function lanes.leave(id, old, body)
      local score = redis.call('ZSCORE', STORE, id)
      if score and tonumber(score) > LANE and member_of(old) ~= member_of(body) then
        redis.call('ZADD', STORE, string.format('%.17g', (score % LANE) / PLACES), id)
      end
    end

    -- Turns far behind the present one are of before TURNS was lost, or began anew.
    local function catch_up(now_at)
      local far = redis.call(
        'ZRANGEBYSCORE', LANES, '(' .. text((now_at + COST + 1) * LANES_MOST), '(' .. text(PARKED_FROM), 'WITHSCORES'
      )
      for i = 1, #far, 2 do
        redis.call('ZADD', LANES, text(now_at * LANES_MOST + far[i + 1] % LANES_MOST), far[i])
      end
    end

    local function move(member, turn)
      redis.call('ZREM', LANES, member) -- first: a full server refuses a script whose first write adds
      redis.call('ZADD', LANES, text(turn), member)
    end

    -- Parks the lanes of those who may have nothing now, and brings back those of who may again. Returns who is parked.
    local function regulate()
      local capped, wanted, parked = limits.each and limits.each() or {}, {}, {}
      local some = redis.call('ZRANGEBYSCORE', LANES, text(PARKED_FROM), '(' .. text(FREE_FROM), 'WITHSCORES')
      for i = 1, #some, 2 do
        if capped[some[i]] then
          capped[some[i]], parked[#parked + 1] = false, some[i]
        else
          move(some[i], turn_now() * LANES_MOST + (some[i + 1] - PARKED_FROM))
        end
      end
      for member, really in pairs(capped) do
        wanted[#wanted + 1] = really and member or nil
      end
      for i, score in ipairs(#wanted > 0 and redis.call('ZMSCORE', LANES, unpack(wanted)) or {}) do
        if score then
          move(wanted[i], PARKED_FROM + score % LANES_MOST)
          parked[#parked + 1] = wanted[i]
        end
      end
      return parked
    end

    -- Looks at what the limited may have, or without limits brings back who is parked still.
    function lanes.regulate()
      if limits.look then
        limits.recount()
        limits.look()
      end
      regulate()
    end

    if limits.look then
      function limits.ends_ms()
        limits.look()
        return limits.next_ms(regulate())
      end
      limits.look()
    end

    local ROUNDS, MORE = 64, 50

    local function before(a, b)
      return a.turn < b.turn or a.turn == b.turn and a.lane < b.lane
    end

    -- Those of LANES that were not seen yet, by their turns. What a tenant was handed out of other slots counts here, too.
    local function in_order(some, now_at, seen)
      local members, ordered = {}, {}
      for i = 1, #some, 2 do
        if tonumber(some[i + 1]) < PARKED_FROM and not seen[some[i]] then
          members[#members + 1] = some[i]
          seen[some[i]] = some[i + 1]
        end
      end
      local used = #members > 0 and redis.call('ZMSCORE', TURNS, unpack(members)) or {}
      for i, member in ipairs(members) do
        local lane, turn = seen[member] % LANES_MOST, math.floor(seen[member] / LANES_MOST)
        local really = is_new(turn, now_at) and turn or math.min(now_at + COST, tonumber(used[i] or turn))
        if really > turn then
          turn = really
          redis.call('ZADD', LANES, text(turn * LANES_MOST + lane), member)
        end
        ordered[i] = {member = member, lane = lane, turn = turn, step = step_of(member)}
      end
      table.sort(ordered, before)
      return ordered
    end

    -- Those whose turn it is: {member, lane, turn, step, messages}, at most `most`. `look(high, low, most)` gives messages.
    local function next_lanes(most, look)
      local now_at, waiting, seen, kept = turn_now(), {}, {}, 0
      catch_up(now_at)
      for _ = 1, ROUNDS do
        local room = kept + most + MORE
        local some = redis.call('ZRANGE', LANES, 0, room - 1, 'WITHSCORES')
        local ordered = in_order(some, now_at, seen)
        local each = math.ceil(most / math.max(1, #ordered)) + 1
        for _, lane in ipairs(ordered) do
          local low, high = edges(lane.lane)
          lane.left = limits.left and limits.left(lane.member) or math.huge
          lane.asked, lane.at = math.min(each, most), 1
          lane.messages = #waiting < most and look(high, low, lane.asked) or {}
          if #lane.messages > 0 then
            waiting[#waiting + 1] = lane
          end
          if #lane.messages > 0 or #waiting == most or not leave_if_empty(lane.member, lane.lane) then
            kept = kept + 1
          end
        end
        if #waiting == most or #some < room * 2 then
          break
        end
      end
      table.sort(waiting, before)
      return waiting
    end

    -- The `most` that come next; for whoever takes them they are all in one lane.
    function lanes.by_turn(most, look)
      if limits.look then
        lanes.regulate()
      end
      local queue, found, first, now_at = next_lanes(most, look), {}, 1, turn_now()
      chosen = {}
      while #found < most * 2 and queue[first] do
        local lane = queue[first]
        first = first + 1
        if lane.at > #lane.messages and #lane.messages == lane.asked * 2 and lane.asked < most then
          lane.asked = math.min(most, lane.asked * 4)
          local low, high = edges(lane.lane)
          lane.messages = look(high, low, lane.asked)
        end
        local id = lane.left > 0 and lane.messages[lane.at]
        if id then
          lane.left = lane.left - 1
          found[#found + 1] = id
          local new = is_new(lane.turn, now_at)
          found[#found + 1] = text((new and TAKEN_NEW_LANE or TAKEN_LANE) * LANE + lane.messages[lane.at + 1] % LANE)
          lane.turn = new and now_at or lane.turn
          chosen[id] = {member = lane.member, lane = lane.lane, turn = lane.turn, step = lane.step}
          lane.at, lane.turn = lane.at + 2, lane.turn + lane.step
          local at = #queue + 1
          while at > first and queue[at - 1].turn > lane.turn do
            queue[at] = queue[at - 1]
            at = at - 1
          end
          queue[at] = lane
        end
      end
      return found
    end

    -- Those were taken. Call when they have left the store.
    function lanes.taken(ids, bodies)
      if limits.look then
        limits.taken(bodies)
      end
      local now_at, used, any = turn_now(), {}, false
      for _, id in ipairs(ids) do
        local by = chosen[id]
        if by then
          now_at, any = math.max(now_at, by.turn), true
          used[by.member] = {lane = by.lane, turn = by.turn + by.step}
        end
      end
      if not any then
        return
      elseif now_at > TURNS_AGAIN then
        redis.call('UNLINK', TURNS) -- `catch_up` does the rest, slot by slot
        now_at, used = NEW, {}
      end
      redis.call('ZREMRANGEBYSCORE', TURNS, '-inf', '(' .. text(now_at))
      redis.call('ZADD', TURNS, text(now_at), 'v')
      if HEADS == STORE then
        redis.call('ZADD', TURNS, text(now), 'at')
      end
      for member, by in pairs(used) do
        redis.call('ZADD', TURNS, text(by.turn), member)
        if not leave_if_empty(member, by.lane) then
          redis.call('ZADD', LANES, text(by.turn * LANES_MOST + by.lane), member)
        end
      end
    end

    -- What was taken comes back uncounted: its tenant owes nothing for it.
    function limits.gives_turn_back(id)
      local member, now_at = member_of(redis.call('HGET', BODY, id)), turn_now()
      local known = redis.call('ZSCORE', LANES, member)
      redis.call('ZREM', TURNS, member)
      if limits.look then
        limits.gave_back(member)
      end
      if known and tonumber(known) < PARKED_FROM and math.floor(known / LANES_MOST) > now_at then
        redis.call('ZADD', LANES, text(now_at * LANES_MOST + known % LANES_MOST), member)
      end
    end
  end
end)() end
