-- Moves up to `limit` ready messages from store to prepare. Needs policy, journal, bodies, origins, lapsing, versions,
-- holds, load, lanes, settle (handed_out).

local take
-- A block, for a script may have 200 locals at most.
do
  -- Quarter octaves: bucket b holds latenesses around 2^(b/4) - 1 ms, so a percentile is exact to 19 %.
  local BUCKETS_PER_NAT = 4 / math.log(2)
  -- The logarithm of a power of two may come out just below the whole number.
  local BUCKET_ROUNDING = 1e-9
  local BLOCKED_MOST = 1000
  -- How far whoever takes alone looks for the next one that must be taken alone.
  local SUSPECTS_AHEAD = 100
  -- Of those that may not be delivered any more, or are held, a take moves so many before it gives back what
  -- else it found.
  local LAPSED_MOST = 100
  -- So many bodies are read at once: what is read in vain is never more.
  local BODIES_AT_ONCE = 32

  local function range(command, from, to, offset, most)
    return redis.call(command, STORE, from, to, 'WITHSCORES', 'LIMIT', offset, most)
  end

  -- The first `limit` that are not in flight: a duplicate waits until the earlier delivery is settled or timed out.
  -- Looks at twice as many only where it misses some: to read a score costs more than all else that is done with it.
  -- Also says whether none was passed over.
  local function unblocked(command, from, to, limit, in_flight)
    if limit <= 0 then
      return {}, true
    end
    local candidates = range(command, from, to, 0, limit)
    if in_flight == 0 or #candidates == 0 then
      return candidates, true
    end
    local most = limit + math.min(in_flight, BLOCKED_MOST)
    local free, looked, asked, gapless = {}, 0, limit, true
    repeat
      local ids = {}
      for i = 1, #candidates, 2 do
        ids[#ids + 1] = candidates[i]
      end
      local blocked = redis.call('ZMSCORE', PREPARE, unpack(ids))
      for i = 1, #ids do
        if blocked[i] then
          gapless = false
        elseif #free < limit * 2 then
          free[#free + 1] = ids[i]
          free[#free + 1] = candidates[i * 2]
        end
      end
      looked = looked + #ids
      if #free == limit * 2 or #ids < asked or looked == most then
        break
      end
      asked = math.min(looked, most - looked)
      candidates = range(command, from, to, looked, asked)
    until #candidates == 0
    return free, gapless
  end

  -- Retried messages of a priority topic rank below every fresh one, so a tenth of each take is theirs. `floor`: fresh
  -- ones below this priority stay, for messages of other slots come before them; `math.huge`: all of them do. Also says
  -- whether the result is the top of the store, whole.
  local function by_priority(limit, in_flight, floor)
    local all_stay = floor == math.huge
    if FAIR and not all_stay then
      floor = nil
    end
    local least = floor and '(' .. ms_text(floor - 1) or '(' .. RETRIED_MAX
    local fresh, gapless = {}, false
    if FAIR and not all_stay then
      fresh = lanes.by_turn(limit, function(high, low, most)
        return (unblocked('ZREVRANGEBYSCORE', high, low, most, in_flight))
      end)
    elseif not all_stay then
      fresh, gapless = unblocked('ZREVRANGEBYSCORE', UNFAIR and '4398046511104' or '+inf', least, limit, in_flight)
    end
    if redis.call('ZCOUNT', STORE, '-inf', RETRIED_MAX) == 0 then
      return fresh, gapless and not UNFAIR
    end
    local retried = unblocked('ZRANGEBYSCORE', '-inf', RETRIED_MAX, limit, in_flight)
    local share = all_stay and limit or math.floor(limit / 10)
    if share == 0 and micros % 10 < limit then
      share = 1
    end
    local n_retried = math.min(#retried / 2, math.max(share, floor and 0 or limit - #fresh / 2))
    local taken = {}
    for i = 1, math.min(#fresh / 2, limit - n_retried) * 2 do
      taken[i] = fresh[i]
    end
    for i = 1, n_retried * 2 do
      taken[#taken + 1] = retried[i]
    end
    return taken, false
  end

  -- Of what was taken, from that position on: it is in the order of its due times, so where two ends fall into one
  -- bucket all between them do.
  local function note_lateness(taken, from)
    local late = {}
    local function bucket_at(i)
      local late_ms = now - math.floor(tonumber(taken[i + 1]))
      return math.floor(math.log(late_ms + 1) * BUCKETS_PER_NAT + BUCKET_ROUNDING)
    end
    local function add(first, first_bucket, last, last_bucket)
      if first_bucket == last_bucket then
        late[first_bucket] = (late[first_bucket] or 0) + (last - first) / 2 + 1
      elseif last - first == 2 then
        late[first_bucket] = (late[first_bucket] or 0) + 1
        late[last_bucket] = (late[last_bucket] or 0) + 1
      else
        local middle = first + math.floor((last - first) / 4) * 2
        add(first, first_bucket, middle, bucket_at(middle))
        add(middle + 2, bucket_at(middle + 2), last, last_bucket)
      end
    end
    add(from, bucket_at(from), #taken - 1, bucket_at(#taken - 1))
    for bucket, n in pairs(late) do
      redis.call('HINCRBY', LATENESS, bucket, n)
    end
  end

  -- What was in flight when a process died is handed out alone: who takes several gets what stands before the first of
  -- these. Returns the candidates to take, and whether one that must be taken alone comes next.
  local function before_suspects(candidates, alone)
    if #candidates == 0 then
      return candidates, false
    end
    local ids = {}
    for i = 1, #candidates, 2 do
      ids[#ids + 1] = candidates[i]
    end
    local suspected = redis.call('HMGET', SUSPECT, unpack(ids))
    local taken, more = {}, false
    for i = 1, #ids do
      if suspected[i] and not (alone and i == 1) then
        more = true
        break
      end
      if not alone or i == 1 then
        taken[i * 2 - 1], taken[i * 2] = ids[i], candidates[i * 2]
      end
    end
    return taken, more
  end

  -- The bodies of the candidates, in their order. From where they would be more than so many bytes on, candidates stay
  -- (never the first); also says whether any does.
  local function bodies_within(candidates, bytes)
    local bodies, n, size, all = {}, 0, 0, #candidates / 2
    for first = 1, all, BODIES_AT_ONCE do
      local ids = {}
      for i = first, math.min(first + BODIES_AT_ONCE - 1, all) do
        ids[#ids + 1] = candidates[i * 2 - 1]
      end
      for _, body in ipairs(redis.call('HMGET', BODY, unpack(ids))) do
        size = size + (body and #body or 0)
        if size > bytes and n > 0 then
          for i = #candidates, n * 2 + 1, -1 do
            candidates[i] = nil
          end
          return bodies, true
        end
        n = n + 1
        bodies[n] = body
      end
    end
    return bodies, false
  end

  -- What comes next: {id, store score, …}, its bodies in the same order ({} when no message of the slot has one), whether
  -- it is the top and the bottom of the store, whole, whether the next one must be taken alone, and whether some that are
  -- ready were left for their size.
  local function next_ones(limit, alone, floor, bytes, in_flight)
    local found, is_top, is_bottom, suspects_next
    local some_suspected = redis.call('EXISTS', SUSPECT) == 1
    limit = alone and 1 or limit
    if TIMED then
      local wanted = alone and some_suspected and SUSPECTS_AHEAD or limit
      found, is_bottom = unblocked('ZRANGEBYSCORE', '-inf', '(' .. ms_text(now + 1), wanted, in_flight)
    elseif alone and some_suspected then
      found = by_priority(1, in_flight, floor)
      for _, each in ipairs(#found == 0 and found or unblocked('ZREVRANGEBYSCORE', '+inf', '-inf', SUSPECTS_AHEAD, in_flight)) do
        found[#found + 1] = each
      end
    else
      found, is_top = by_priority(limit, in_flight, floor)
    end
    if some_suspected then
      found, suspects_next = before_suspects(found, alone)
      if alone then
        for i = #found, 3, -1 do
          found[i] = nil
        end
      end
    end
    local bodies, cut = {}, false
    if #found > 0 and redis.call('EXISTS', BODY) == 1 then
      bodies, cut = bodies_within(found, bytes)
    end
    return found, bodies, is_top, is_bottom, suspects_next, cut
  end

  -- Of what is ready the first so many, of a priority topic without what failed before, and their bodies.
  function limits.ready(most, bytes)
    local found
    if TIMED then
      found = range('ZRANGEBYSCORE', '-inf', '(' .. ms_text(now + 1), 0, most)
    else
      found = range('ZREVRANGEBYSCORE', '+inf', '(' .. RETRIED_MAX, 0, most)
    end
    return found, (bodies_within(found, bytes))
  end

  local function ids_of(found)
    local ids = {}
    for i = 1, #found, 2 do
      ids[#ids + 1] = found[i]
    end
    return ids
  end

  -- Ends some of the found. `ends`: whether that at a position is to end. Returns the others, their bodies ({}: no message
  -- of the slot has one), and how many ended.
  local function without(found, bodies, ends, event)
    local gone, left, left_bodies = {}, {}, {}
    for i = 1, #found / 2 do
      if ends(i) then
        gone[#gone + 1] = found[i * 2 - 1]
      else
        left[#left + 1], left_bodies[#left_bodies + 1] = found[i * 2 - 1], bodies[i]
        left[#left + 1] = found[i * 2]
      end
    end
    if #gone == 0 then
      return found, bodies, 0
    end
    lapse(gone, 's', event)
    return left, left_bodies, #gone
  end

  -- Ends those of the found that may not be delivered any more. Returns as `without`.
  local function deliverable(found, bodies)
    local ended, more = 0, 0
    if #bodies > 0 then
      found, bodies, ended = without(found, bodies, function(i)
        return has_lapsed(bodies[i])
      end, 'lapsed')
    end
    if outdone_by and #found > 0 then
      local outdone = outdone_by(ids_of(found), bodies)
      found, bodies, more = without(found, bodies, function(i)
        return outdone[i]
      end, 'outdated')
    end
    return found, bodies, ended + more
  end

  -- With `alone`, at most one, which the caller runs while nothing else runs in its process; it has no origin then.
  -- Of bodies, at most so many `bytes`, unless the first one alone is larger. Returns {id, store score, …}, the
  -- bodies in the same order ({} when no message of the slot has one), whether the next one must be taken alone, and
  -- whether some that are ready were left, for their size or because so many others had to be ended or set aside.
  function take(limit, alone, floor, bytes)
    if limit == 0 then
      return {}, {}, false, false
    end
    local from = handed_out.from()
    if not from then
      return {}, {}, false, true
    end
    local in_flight = redis.call('ZCARD', PREPARE)
    local taken, bodies, is_top, is_bottom, suspects_next, cut
    local ended, ended_in_all = 0, 0
    repeat
      taken, bodies, is_top, is_bottom, suspects_next, cut = next_ones(limit, alone, floor, bytes, in_flight)
      taken, bodies, ended = deliverable(taken, bodies)
      if limits.look then
        local kept
        taken, bodies, kept = limits.within(taken, bodies)
        ended = ended + kept
      end
      if HOLDS then
        local kept
        taken, bodies, kept = without_held(taken, bodies)
        ended = ended + kept
      end
      if ORDER then
        local kept
        taken, bodies, kept = ORDER.in_their_turn(taken, bodies)
        ended = ended + kept
      elseif limits.within_keys then
        local kept
        taken, bodies, kept = limits.within_keys(taken, bodies, bytes)
        ended = ended + kept
      end
      ended_in_all = ended_in_all + ended
    until ended == 0 or ended_in_all >= LAPSED_MOST
    cut = cut or ended > 0
    if #taken == 0 then
      return taken, {}, suspects_next and not cut, cut
    end
    local ids, prepared, priorities = {}, {}, {}
    local fresh_from
    -- Numbers become text one by one on their way to Redis; most receipts of a take are the same. But those of an owner
    -- differ by a millisecond each: so the prepare queue keeps their order for the owner after it.
    local fresh_receipt = ms_text(from * SHIFT)
    local owned = EPOCH ~= ''
    local n = 0
    for i = 1, #taken, 2 do
      n = n + 1
      local id, score = taken[i], taken[i + 1]
      ids[n] = id
      prepared[i + 1] = id
      -- Reading a long fraction costs more than all the rest; what counts retries is at most two digits.
      if #score <= 2 and tonumber(score) <= RETRIED_MAX then
        prepared[i] = (owned and from + n - 1 or from) * SHIFT + failures_of(tonumber(score))
      else
        prepared[i] = owned and string.format('%d000', from + n - 1) or fresh_receipt
        fresh_from = fresh_from or i
        if alone and not TIMED then
          priorities[1], priorities[2] = id, score
        end
      end
    end
    if is_bottom then
      redis.call('ZREMRANGEBYRANK', STORE, 0, n - 1)
    elseif is_top then
      redis.call('ZREMRANGEBYRANK', STORE, -n, -1)
    else
      redis.call('ZREM', STORE, unpack(ids))
    end
    if FAIR then
      lanes.taken(ids, bodies)
    end
    redis.call('ZADD', PREPARE, unpack(prepared))
    if remember_versions then
      remember_versions(ids, bodies)
    end
    if ORDER then
      ORDER.begin()
    elseif limits.keys_taken then
      limits.keys_taken(taken, bodies)
    end
    if not alone then
      note_origins(from, taken, in_flight)
    end
    for i = 1, #bodies do
      note_load('t', bodies[i])
    end
    if #priorities > 0 then
      remember_priorities(priorities)
    end
    if TIMED and fresh_from then
      note_lateness(taken, fresh_from)
    end
    count('taken', n)
    if JOURNALING then
      next_phase()
      local items = items_of('taken', 'sp')
      for i = 1, #taken, 2 do
        items[i], items[i + 1] = prepared[i + 1], prepared[i]
      end
    end
    return taken, bodies, suspects_next and not cut, cut
  end
end
