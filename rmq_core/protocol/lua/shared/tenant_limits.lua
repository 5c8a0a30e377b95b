-- What caps tenants of a fair topic. The slot's mark (see shared/lanes.lua) says it behind the weight of each: ',h' nothing of
-- his is handed out, ',r<messages>/<ms>' so many are in that time, ',c<messages>' so many are in flight at once.
-- TURNS knows 'r<member>' → when his rate is used up (microseconds), 'c<member>' → FLIGHTS plus what of him is in flight, and
-- 'd<store> <member>' → how much of that is in this slot, as it was when somebody counted last. What is beyond the turns
-- in there no sweep of them reaches. Who has used up what he may has his lane parked, behind all turns: a take does not meet
-- it. Needs marks, clock, counting, and where
-- something is taken policy, journal, holds.
if FAIR and string.find(marks[4], ',', 1, true) then (function()
  local RATE_FROM, FLIGHTS = 4398046511104, 4503599627370496
  -- What another slot gives back is seen so much later at most.
  local POLL_MS, LATER_MS, AT_ONCE = 250, 1000, 1000
  local now_us = now * 1000 + micros % 1000
  local of, names, count_flights, recounted = {}, {}, false, false

  for name, more in string.gmatch(marks[4], ' (%S*)=%d+,(%S+)') do
    local messages, span_ms = string.match(more, 'r(%d+)/(%d+)')
    local cap = {held = string.find(more, 'h', 1, true) ~= nil, most = tonumber(string.match(more, 'c(%d+)') or nil)}
    if messages then
      cap.step = span_ms * 1000 / messages
      cap.burst = math.max(1, math.floor(messages * 50 / span_ms)) -- a twentieth of a second's
    end
    of['t' .. name], names[#names + 1] = cap, 't' .. name
    count_flights = count_flights or cap.most ~= nil
  end

  -- Whether somebody is held: then what he has failed is kept back, too.
  function limits.held(member)
    return of[member] and of[member].held
  end

  -- ZADD, where it may be the first write: a full server refuses a script whose first write adds.
  local function put(name, score)
    redis.call('ZREM', TURNS, name)
    if score then
      redis.call('ZADD', TURNS, string.format('%.0f', score), name)
    end
  end

  -- From when on his rate allows so many more (microseconds).
  local function allowed_at(cap, messages)
    return cap.used + (messages - cap.burst) * cap.step
  end

  -- Reads what each has used.
  function limits.look()
    local asked = {}
    for _, member in ipairs(names) do
      asked[#asked + 1], asked[#asked + 2] = 'r' .. member, 'c' .. member
    end
    local known = redis.call('ZMSCORE', TURNS, unpack(asked))
    for i, member in ipairs(names) do
      local cap, left = of[member], math.huge
      if cap.step then
        -- Never further ahead than it could be: the clock may have stepped back, or the limit was a lower one.
        local used, most = tonumber(known[i * 2 - 1] or nil) or 0, now_us + cap.burst * cap.step
        if used > most + 1 then
          put('r' .. member, most)
        end
        cap.used = math.max(now_us, math.min(used, most))
        left = math.floor((now_us - cap.used) / cap.step + cap.burst + 1e-6)
      end
      if cap.most then
        cap.flights = math.max(0, tonumber(known[i * 2] or FLIGHTS) - FLIGHTS)
        left = math.min(left, cap.most - cap.flights)
      end
      cap.left = cap.held and 0 or math.max(0, left)
    end
  end

  -- How many more may be handed out of a tenant, by the last look; nil: any number.
  function limits.left(member)
    return of[member] and of[member].left
  end

  -- Member → whether his lane is to be parked; of all that are limited.
  function limits.each()
    local capped = {}
    for _, member in ipairs(names) do
      capped[member] = of[member].left == 0
    end
    return capped
  end

  -- When one of those, which are parked here, may go on; nil: not by itself.
  function limits.next_ms(parked)
    local first
    for _, member in ipairs(parked) do
      local cap = of[member]
      local at = cap and not cap.held and (cap.most and cap.flights >= cap.most and now + POLL_MS
        or cap.step and math.ceil(allowed_at(cap, math.max(1, math.floor(cap.burst / 2))) / 1000))
      first = at and math.min(first or at, at) or first
    end
    return first and math.max(now + 1, first)
  end

  local function flights_here(member)
    return tonumber(redis.call('ZSCORE', TURNS, 'd' .. STORE .. ' ' .. member) or FLIGHTS) - FLIGHTS
  end

  local function set_flights(member, here, change)
    local known = tonumber(redis.call('ZSCORE', TURNS, 'c' .. member) or FLIGHTS) - FLIGHTS
    local sum = math.max(here, known + change)
    put('d' .. STORE .. ' ' .. member, here > 0 and FLIGHTS + here)
    put('c' .. member, sum > 0 and FLIGHTS + sum)
  end

  -- Counts what is in flight in this slot of those of whom that matters; `limits.freed`: of somebody less than before. It is looked at, and not added up on every way
  -- that a delivery can end: so no count is ever wrong for long.
  function limits.recount()
    if not count_flights or recounted then
      return
    end
    recounted = true
    local ids, here = redis.call('ZRANGE', PREPARE, 0, -1), {}
    for first = 1, #ids, AT_ONCE do
      for _, body in ipairs(redis.call('HMGET', BODY, unpack(ids, first, math.min(#ids, first + AT_ONCE - 1)))) do
        local member = lanes.member_of(body)
        here[member] = (here[member] or 0) + 1
      end
    end
    for _, member in ipairs(names) do
      if of[member].most then
        local known = flights_here(member)
        if known ~= (here[member] or 0) then
          limits.freed = limits.freed or known > (here[member] or 0)
          set_flights(member, here[member] or 0, (here[member] or 0) - known)
        end
      end
    end
  end

  -- What has failed of who is held waits behind a hold of its own.
  local function number_of_hold(member)
    for _, hold in ipairs(HOLDS or {}) do
      if hold.kind == 't' and hold.key == string.sub(member, 2) then
        return hold.number
      end
    end
    return new_hold('t', string.sub(member, 2), nil, '').number
  end

  -- Those that are handed out: of limited tenants so many as may be, what failed before first. The others stay; but what
  -- failed of a tenant who may have no more comes again later, for it stands in nobody's lane. Returns the found, their
  -- bodies, and how many left the store.
  function limits.within(found, bodies)
    local left, over, kept = {}, {}, 0
    for _, retried in ipairs({true, false}) do
      for i = 1, #found / 2 do
        local member = lanes.member_of(bodies[i])
        local cap = of[member]
        if cap and (tonumber(found[i * 2]) <= RETRIED_MAX) == retried then
          left[member] = left[member] or cap.left
          if left[member] > 0 then
            left[member] = left[member] - 1
          else
            over[i] = cap
          end
        end
      end
    end
    if not next(over) then
      return found, bodies, 0
    end
    local rest, rest_bodies, aside, numbers = {}, {}, {}, {}
    for i = 1, #found / 2 do
      local id, score = found[i * 2 - 1], found[i * 2]
      if not over[i] then
        rest[#rest + 1] = id
        rest[#rest + 1] = score
        rest_bodies[#rest / 2] = bodies[i]
      elseif tonumber(score) <= RETRIED_MAX then
        kept = kept + 1
        if over[i].held then
          aside[#aside + 1] = id
          aside[#aside + 1] = score
          numbers[#numbers + 1] = number_of_hold(lanes.member_of(bodies[i]))
        else
          local retry = (now + LATER_MS) * SHIFT + failures_of(tonumber(score))
          redis.call('ZREM', STORE, id)
          redis.call('ZADD', RETRY, ms_text(retry), id)
          count('held', 1)
          note('held', 'sr', id, retry)
        end
      end
    end
    if #aside > 0 then
      set_aside(aside, numbers)
    end
    return rest, rest_bodies, kept
  end

  -- Of those that are taken now. Call when they are out of the store.
  function limits.taken(bodies)
    local n = {}
    for _, body in ipairs(bodies) do
      local member = lanes.member_of(body)
      if of[member] then
        n[member] = (n[member] or 0) + 1
      end
    end
    redis.call('ZREMRANGEBYSCORE', TURNS, '(' .. string.format('%.0f', RATE_FROM), string.format('%.0f', now_us))
    for member, more in pairs(n) do
      local cap = of[member]
      if cap.step then
        cap.used = cap.used + more * cap.step
        put('r' .. member, cap.used)
      end
      if cap.most then
        set_flights(member, flights_here(member) + more, more)
        cap.flights = cap.flights + more
      end
      cap.left = math.max(0, cap.left - more)
    end
  end

  -- What was taken came back uncounted.
  function limits.gave_back(member)
    local used = of[member] and of[member].step and tonumber(redis.call('ZSCORE', TURNS, 'r' .. member) or nil)
    if used then
      put('r' .. member, used - of[member].step)
    end
  end
end)() end
