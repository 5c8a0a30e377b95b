-- What time does to a slot, whoever looks: timeouts and due retries. Needs failing, origins, returning.
local time_out, roll_back, promote
-- include shared/stepping.lua
-- A block, for a script may have 200 locals at most.
do
  local stepped = limits.stepped
  -- What fingerprints.fingerprint makes of the text below, with any number in it.
  local TIMEOUT_FINGERPRINT = '384c5f74564d0e47'
  local BACKOFFS_LOOKED_AT = 100

  -- A delivery whose process is gone, or that took too long. One of several counts for none of them: it is back at its
  -- place, and will be handed out alone. What was taken alone has failed.
  function time_out(id, receipt, fragment)
    redis.call('ZREM', PREPARE, id)
    if limits.make_room then
      limits.make_room({id})
    end
    count('expired', 1)
    note('expired', 'pp', id, receipt)
    local place = origin_of(id, receipt)
    place = place and GROUP and entry_place(id) or place
    if not place then
      fail(id, receipt % SHIFT + 1, 0, fragment, nil)
      return
    end
    count('released', 1)
    local failures = receipt % SHIFT
    if back_to_store(id, failures > 0 and retries_left(failures) or place, 'released', 'p', receipt) then
      redis.call('HSET', SUSPECT, id, '')
    end
  end

  -- Deliveries that seem to have been taken in the future: the clock has stepped back. They are given one timeout, or as
  -- long as they were extended for, from when that was first seen.
  local function from_the_future(most)
    local taken, since = stepped.taken(), nil
    if #taken > 0 then
      since = stepped.since() or now
    end
    stepped.note(since)
    local expired = {}
    for _, each in ipairs(taken) do
      if now - since >= each[3] and #expired < most * 2 then
        expired[#expired + 1], expired[#expired + 2] = each[1], each[2]
      end
    end
    return expired
  end

  -- Timeouts, at most `most`; what a slot needs even when nobody takes from it.
  function roll_back(most)
    if redis.call('EXISTS', PREPARE) == 0 then
      stepped.note(nil)
      return 0
    end
    next_phase()
    local fragment = string.format(
      '"fingerprint":"%s","error":"Timeout","message":"not settled within %.0f ms","worker":""}', TIMEOUT_FINGERPRINT, TIMEOUT_MS
    )
    local expired = redis.call(
      'ZRANGEBYSCORE', PREPARE, '-inf', ms_text((now - TIMEOUT_MS) * SHIFT + SHIFT - 1), 'WITHSCORES', 'LIMIT', 0, most
    )
    for _, each in ipairs(from_the_future(most - #expired / 2)) do
      expired[#expired + 1] = each
    end
    for i = 1, #expired, 2 do
      time_out(expired[i], tonumber(expired[i + 1]), fragment)
    end
    if #expired > 0 then
      forget_origins()
    end
    return #expired / 2
  end

  -- When it is due, should the clock have stepped back: as long from now as its failure record says, or without one
  -- (it was released) as the longest delay. nil: as it is.
  local function shortened(id, score, longest)
    local record = redis.call('HGET', FAILED, id)
    local last_ms, due_ms = string.match(record or '', '"last_ms":(%d+),"due_ms":(%d+)')
    last_ms, due_ms = tonumber(last_ms), tonumber(due_ms)
    local due = nil
    if due_ms == math.floor(score / SHIFT) then
      due = last_ms > now and now + due_ms - last_ms
      if due then
        redis.call('HSET', FAILED, id, (string.gsub(
          record, '"last_ms":%d+,"due_ms":%d+', string.format('"last_ms":%.0f,"due_ms":%.0f', now, due), 1
        )))
      end
    elseif not TIMED or not stepped.was_given(math.floor(score / SHIFT)) then
      due = now + longest
    end
    due = due and due * SHIFT + score % SHIFT
    return due and due < score and due or nil
  end

  -- What waits since the clock was ahead waits no longer than it would have from now. So many at a time, from the first to
  -- the last, and from the first again where the clock steps back meanwhile. Says whether there is more.
  local function shorten_backoffs()
    local at, longest = stepped.walk()
    if not at then
      return false
    end
    local found = redis.call(
      'ZRANGEBYSCORE', RETRY, at, '(' .. ms_text(HELD_FROM), 'WITHSCORES', 'LIMIT', 0, BACKOFFS_LOOKED_AT
    )
    redis.call('HDEL', STATS, 'waits_at') -- first: a full server refuses a script whose first write adds
    local stayed = 0
    for i = 1, #found, 2 do
      local id, score = found[i], tonumber(found[i + 1])
      local due = shortened(id, score, longest)
      if due then
        redis.call('ZADD', RETRY, due, id)
        count('rescheduled', 1)
        note('rescheduled', 'rr', id, due)
      else
        stayed = stayed + 1
      end
    end
    redis.call('HSET', STATS, 'waits', ms_text(now) .. ' ' .. longest)
    local more = #found == BACKOFFS_LOOKED_AT * 2
    if more then
      local last = found[#found]
      redis.call('HSET', STATS, 'waits_at', (stayed == BACKOFFS_LOOKED_AT and last == found[2] and '(' or '') .. last)
    end
    return more
  end

  -- Retries whose time has come, at most `most`; also says whether back-offs are left to be looked at.
  function promote(most)
    if redis.call('EXISTS', RETRY) == 0 then
      return 0, false
    end
    next_phase()
    local more = shorten_backoffs()
    next_phase()
    local due = redis.call('ZRANGEBYSCORE', RETRY, '-inf', ms_text(now * SHIFT + SHIFT - 1), 'WITHSCORES', 'LIMIT', 0, most)
    for i = 1, #due, 2 do
      local id, failures = due[i], tonumber(due[i + 1]) % SHIFT
      redis.call('ZREM', RETRY, id)
      if failures > 0 then
        back_to_store(id, retries_left(failures), 'promoted', 'r')
      else
        local priority = redis.call('HGET', PRIORITY, id)
        back_to_store(id, not TIMED and priority and tonumber(priority) or fresh_place(nil, id), 'promoted', 'r')
      end
    end
    return #due / 2, more
  end
end
