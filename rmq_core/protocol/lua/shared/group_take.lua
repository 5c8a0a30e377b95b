-- Takes up to `limit` entries for a group: what came back before, then what it has not read. Needs policy, journal, group,
-- bodies, origins, trash.
-- In a block of its own: a script may have 200 local variables.
local before_suspects, free_ones, must_wait, take

do
  -- How far whoever takes alone looks for the next one that must be taken alone.
  local SUSPECTS_AHEAD = 100

  -- What was in flight when a process died is handed out alone: who takes several gets what stands before the first of
  -- these. Returns the candidates to take, and whether one that must be taken alone comes next.
  function before_suspects(candidates, alone)
    if #candidates == 0 or redis.call('EXISTS', SUSPECT) == 0 then
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
      taken[i * 2 - 1], taken[i * 2] = ids[i], candidates[i * 2]
    end
    return taken, more
  end

  -- What came back, in its order, without what is in flight: a copy that was requeued waits for the end of the other.
  local BLOCKED_MOST = 1000

  function free_ones(most)
    local free, from, step = {}, 0, most
    repeat
      local candidates = redis.call('ZRANGE', STORE, from, from + step - 1, 'WITHSCORES')
      if from == 0 and redis.call('EXISTS', PREPARE) == 0 then
        return candidates
      elseif #candidates == 0 then
        return free
      end
      local ids = {}
      for i = 1, #candidates, 2 do
        ids[#ids + 1] = candidates[i]
      end
      local in_flight = redis.call('ZMSCORE', PREPARE, unpack(ids))
      for i = 1, #ids do
        if not in_flight[i] and #free < most * 2 then
          free[#free + 1], free[#free + 2] = ids[i], candidates[i * 2]
        end
      end
      from = from + step
    until #free == most * 2 or #ids < step or from > BLOCKED_MOST
    return free
  end

  -- How much a body holds, or an entry's names and values.
  local function size_of(content)
    if type(content) == 'string' then
      return #content
    end
    local size = 0
    for i = 2, #content, 2 do
      size = size + #content[i]
    end
    return size
  end

  -- What they hold, up to so many bytes; what stands behind that stays, but never the first. Of what was deleted
  -- meanwhile, or trimmed on purpose, nothing can be had any more: it ends here. Also says how many bytes, and whether
  -- some stay.
  local function with_content(candidates, bytes)
    local taken, contents, gone, size, cut = {}, {}, {}, 0, false
    for i = 1, #candidates, 2 do
      local id = candidates[i]
      local body = redis.call('HGET', BODY, id) or entry_of(id)
      size = size + (body and size_of(body) or 0)
      if size > bytes and #taken > 0 then
        cut = true
        break
      elseif body then
        taken[#taken + 1], taken[#taken + 2], contents[#contents + 1] = id, candidates[i + 1], body
      else
        redis.call('ZREM', STORE, id)
        note('cancelled', 's-', id, 0)
        gone[#gone + 1] = id
      end
    end
    if #gone > 0 then
      count('cancelled', #gone)
      clear_suspects(gone)
      finished(gone)
      forget(gone, {RETRY, PREPARE, DEAD})
    end
    return taken, contents, size, cut
  end

  -- Behind a position that was set back stands what is still under way; that is not taken twice.
  local function not_under_way(entries, numbers)
    local ids, free, their_numbers = {}, {}, {}
    for i, entry in ipairs(entries) do
      ids[i] = entry[1]
    end
    local held = {}
    for _, queue in ipairs({OPEN, STORE, RETRY, PREPARE}) do
      for i, score in ipairs(redis.call('ZMSCORE', queue, unpack(ids))) do
        held[i] = held[i] or score
      end
    end
    for i, entry in ipairs(entries) do
      if not held[i] then
        free[#free + 1] = entry
        their_numbers[#free] = numbers[i]
      end
    end
    return free, their_numbers
  end

  -- What is open keeps the order of ids: where entries were deleted since it was read, what is read again before it has
  -- larger numbers. What is among the `entries` gets its number of today, the others one right behind the entry before.
  local function keep_open_in_order(entries, numbers)
    local i, first, last = #entries, entries[1][1], ms_text(numbers[#entries])
    local ids, portion = {}, {}
    repeat
      portion = redis.call('ZREVRANGEBYSCORE', OPEN, last, '-inf', 'LIMIT', #ids, #entries)
      for _, id in ipairs(portion) do
        if is_before(id, first) then
          portion = {}
          break
        end
        ids[#ids + 1] = id
      end
    until #portion < #entries
    for nth, id in ipairs(ids) do -- the last one first
      while is_before(id, entries[i][1]) do
        i = i - 1
      end
      local behind = id == entries[i][1] and 0 or 1 - nth / (#ids + 1)
      redis.call('ZADD', OPEN, string.format('%.17g', numbers[i] + behind), id)
    end
  end

  -- The next entries of the stream, up to so many bytes, but one where nothing else was taken (`first`); and whether
  -- some are left for their size. What is read in vain is at most what the sizes so far let one expect.
  local PORTION = 32

  local function next_entries(cursor, most, bytes, first)
    local entries, size, wanted = {}, 0, PORTION
    while #entries < most do
      wanted = math.min(wanted, most - #entries)
      local some = redis.call('XRANGE', ENTRIES, '(' .. cursor, '+', 'COUNT', wanted)
      for i = 1, #some do
        size = size + size_of(some[i][2])
        if size > bytes and not (first and #entries == 0) then
          return entries, true
        end
        entries[#entries + 1] = some[i]
      end
      if #some < wanted then
        break
      end
      cursor = some[wanted][1]
      wanted = math.max(PORTION, math.floor((bytes - size) / (size / #entries + 1)))
    end
    return entries, false
  end

  -- Whether some were read that are not handed out: then these do not tell how far the group has come.
  local passed_by = false

  local function note_passed_by()
    if passed_by and JOURNALING then
-- include shared/noting_position.lua
    end
  end

  -- The next entries of the stream, and their numbers (false: they follow that one); the group stands behind them now.
  -- `cut`: some are left for their size.
  local function read_on(most, bytes, first)
    local at = own_position()
    local entries, cut = next_entries(at.cursor, most, bytes, first)
    if #entries == 0 then
      return entries, false, at.number, cut
    end
    -- First, and of a field that is never there: a full server refuses a script whose first write adds, and while a
    -- durable group cannot go on nothing is trimmed.
    redis.call('HDEL', SUSPECT, '')
    local before_them = at.number
    local again = at.cursor ~= at.furthest
    at.cursor, at.number = entries[#entries][1], at.number + #entries
    position_moved = true
    if again then
      local numbers = {}
      for i = 1, #entries do
        numbers[i] = before_them + i
      end
      if is_before(at.furthest, at.cursor) then
        at.furthest = at.cursor
      end
      count('moved', 1) -- for whoever samples: perhaps nothing else is counted
      keep_open_in_order(entries, numbers)
      local read = #entries
      entries, numbers = not_under_way(entries, numbers)
      passed_by = #entries < read
      return entries, numbers, before_them, cut
    end
    at.furthest = at.cursor
    return entries, false, before_them, cut
  end

  -- Whether something that was handed out before is neither done nor dead. An owner takes nothing before it has settled
  -- all.
  function must_wait()
    return redis.call('EXISTS', RETRY) == 1 or EPOCH == '' and redis.call('EXISTS', PREPARE) == 1
  end

  -- {id, what it holds, …}: a bare content, or names and values. Each table less is time, here and where it is read.
  local function flat(entries)
    local given = {}
    for i = 1, #entries do
      local entry = entries[i]
      local held = entry[2]
      given[i * 2 - 1], given[i * 2] = entry[1], held[1] == 'v' and not held[3] and held[2] or held
    end
    return given
  end

  -- With `alone`, at most one, which the caller runs while nothing else runs in its process; it has no origin then.
  -- With `unsettled` nobody settles what is new: it is done.
  -- Returns {id, store score, …} of what came back, what these hold (a body, or an entry's names and values), {id, what
  -- it holds, …} of the new ones, whether the next one must be taken alone, and whether some that are ready were left
  -- for their size.
  function take(limit, alone, unsettled, bytes)
    if limit == 0 then
      return {}, {}, {}, false, false
    end
    if alone then
      limit = 1
    end
    local moment = handed_out.from()
    if not moment then
      return {}, {}, {}, false, true
    end
    local in_flight = redis.call('ZCARD', PREPARE)
    local returned, bodies, suspects_next, size, cut = {}, {}, false, 0, false
    local entries, numbers, before_them = {}, false, 0
    if redis.call('EXISTS', STORE) == 1 then
      local ahead = alone and redis.call('EXISTS', SUSPECT) == 1
      returned, suspects_next = before_suspects(free_ones(ahead and SUSPECTS_AHEAD or limit), alone)
      if alone then
        returned = {returned[1], returned[2]}
      end
      returned, bodies, size, cut = with_content(returned, bytes)
      suspects_next = suspects_next and not cut
    end
    local n = #returned / 2
    if n < limit and not suspects_next and not cut then
      entries, numbers, before_them, cut = read_on(limit - n, bytes - size, n == 0)
    end
    if n + #entries == 0 then
      note_passed_by()
      return returned, bodies, {}, suspects_next, cut
    end
    local given = flat(entries)
    count('sent', #entries)
    count('taken', n + #entries)
    local prepared, opened, origins, left = {}, {}, {}, {}
    -- What was taken alone has no origin; it is known all the same who has it.
    local origin, from = alone and '' or '1', 0
    if member ~= '' then
      origins[1], origins[2], from = '', member, 2
    end
    -- An owner's receipts differ by a millisecond each: so the prepare queue keeps their order for the owner after it.
    local owned, at = EPOCH ~= '', 0
    for i = 1, #returned, 2 do
      left[#left + 1] = returned[i]
      local receipt = (owned and moment + at or moment) * SHIFT + failures_of(tonumber(returned[i + 1]))
      prepared[at * 2 + 1], prepared[at * 2 + 2] = ms_text(receipt), returned[i]
      origins[from + at * 2 + 1], origins[from + at * 2 + 2] = returned[i], origin
      at = at + 1
    end
    if #left > 0 then
      redis.call('ZREM', STORE, unpack(left))
    end
    if unsettled then
      count('acked', #entries)
    else
      -- As little work for each as can be: this loop is most of a large take.
      local fresh = ms_text(moment * SHIFT)
      for i = 1, #entries do
        local id, place = given[i * 2 - 1], at * 2
        prepared[place + 1] = owned and ms_text((moment + at) * SHIFT) or fresh
        prepared[place + 2], origins[from + place + 1], origins[from + place + 2] = id, id, origin
        opened[i * 2 - 1], opened[i * 2] = numbers and numbers[i] or before_them + i, id
        at = at + 1
      end
    end
    if #prepared > 0 then
      redis.call('ZADD', PREPARE, unpack(prepared))
      if not alone or member ~= '' then
        note_origins(moment, origins, in_flight)
      end
    end
    if #opened > 0 then
      redis.call('ZADD', OPEN, unpack(opened))
    end
    if JOURNALING then
      next_phase()
      for _, entry in ipairs(entries) do
        note('sent', 'ns', entry[1], entry_place(entry[1]))
      end
      note_passed_by()
      next_phase()
      for i = 1, #prepared, 2 do
        note('taken', 'sp', prepared[i + 1], prepared[i])
      end
      if unsettled then
        local receipt = ms_text(moment * SHIFT)
        for _, entry in ipairs(entries) do
          note('taken', 'sp', entry[1], receipt)
          note('acked', 'p-', entry[1], receipt)
        end
      end
    end
    return returned, bodies, given, suspects_next, cut
  end
end
