-- What time does to a slot, whoever looks: timeouts and due retries. Needs failing, origins, returning.
local time_out, roll_back, promote
-- A block, for a script may have 200 locals at most.
do
-- include shared/extended.lua
  -- What fingerprints.fingerprint makes of the text below, with any number in it.
  local TIMEOUT_FINGERPRINT = '384c5f74564d0e47'
  -- An owner's receipts run ahead of the clock by a millisecond for each of a batch.
  local AHEAD_MS = 2000
  local BACKOFFS_LOOKED_AT = 100
  local FUTURE_LOOKED_AT = 1000

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

  -- How long after the step a delivery whose receipt is that far ahead has its time; nil: it was extended on purpose.
  local function allowed_ms(at_ms, known, older_to)
    for _, each in ipairs(known) do
      if at_ms >= each[1] and at_ms <= each[2] then
        return each[3] > now + AHEAD_MS and each[2] - each[3] + TIMEOUT_MS or nil
      end
    end
    return at_ms > older_to and TIMEOUT_MS or nil
  end

  -- Deliveries that seem to have been taken in the future: the clock has stepped back. They are given one timeout, or as
  -- long as they were extended for, from when that was first seen. The field `stepped_back` holds that moment, and the
  -- latest receipt there was.
  local function from_the_future(most)
    local ahead = redis.call(
      'ZRANGEBYSCORE', PREPARE, '(' .. ms_text((now + AHEAD_MS) * SHIFT), '+inf', 'WITHSCORES', 'LIMIT', 0, FUTURE_LOOKED_AT
    )
    if #ahead == 0 then
      return {}
    end
    local known, older_to = extensions(), tonumber(redis.call('HGET', STATS, 'extended_to') or nil) or 0
    for _, each in ipairs(known) do
      if each[2] >= older_to then
        older_to = 0 -- it is one of these
      end
    end
    local wrong, latest = {}, nil
    for i = 1, #ahead, 2 do
      local at_ms = math.floor(tonumber(ahead[i + 1]) / SHIFT)
      local for_ms = allowed_ms(at_ms, known, older_to)
      if for_ms then
        latest = math.max(latest or 0, at_ms)
        wrong[#wrong + 1] = {ahead[i], ahead[i + 1], for_ms}
      end
    end
    if not latest then
      return {}
    end
    local seen_ms, seen = string.match(redis.call('HGET', STATS, 'stepped_back') or '', '^(%d+) (%d+)$')
    seen_ms = tonumber(seen_ms)
    if not seen_ms or tonumber(seen) < latest or seen_ms > now then
      redis.call('HSET', STATS, 'stepped_back', ms_text(now) .. ' ' .. ms_text(latest))
      return {}
    end
    local expired = {}
    for _, each in ipairs(wrong) do
      if now - seen_ms >= each[3] and #expired < most * 2 then
        expired[#expired + 1], expired[#expired + 2] = each[1], each[2]
      end
    end
    return expired
  end

  -- Timeouts, at most `most`; what a slot needs even when nobody takes from it.
  function roll_back(most)
    if redis.call('EXISTS', PREPARE) == 0 then
      return 0
    end
    next_phase()
    local fragment = string.format(
      '"fingerprint":"%s","error":"Timeout","message":"not settled within %.0f ms","worker":""}', TIMEOUT_FINGERPRINT, TIMEOUT_MS
    )
    local expired = redis.call(
      'ZRANGEBYSCORE', PREPARE, '-inf', ms_text((now - TIMEOUT_MS) * SHIFT + SHIFT - 1), 'WITHSCORES', 'LIMIT', 0, most
    )
    if #expired == 0 then
      expired = from_the_future(most)
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
  -- (it was released) as the longest of those. nil: as it is.
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
    elseif not TIMED or score % SHIFT == 0 and not GROUP then -- else somebody may have given it that time
      due = now + longest
    end
    due = due and due * SHIFT + score % SHIFT
    return due and due < score and due or nil
  end

  -- What waits since the clock was ahead waits no longer than it would have from now. So many at a time, from the first to
  -- the last: `waits_at` is how far that has come.
  local function shorten_backoffs()
    local from, longest = string.match(redis.call('HGET', STATS, 'waits') or '', '^(%d+) (%d+)$')
    if not from or tonumber(from) <= now + AHEAD_MS then
      return
    end
    local at, edge = redis.call('HGET', STATS, 'waits_at') or ms_text(now * SHIFT), '(' .. ms_text(HELD_FROM)
    local found = redis.call('ZRANGEBYSCORE', RETRY, at, edge, 'WITHSCORES', 'LIMIT', 0, BACKOFFS_LOOKED_AT)
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
    if #found < BACKOFFS_LOOKED_AT * 2 then
      redis.call('HSET', STATS, 'waits', ms_text(now) .. ' ' .. longest)
    else
      local last = found[#found]
      redis.call('HSET', STATS, 'waits_at', (stayed == BACKOFFS_LOOKED_AT and last == found[2] and '(' or '') .. last)
    end
  end

  -- Retries whose time has come, at most `most`.
  function promote(most)
    if redis.call('EXISTS', RETRY) == 0 then
      return 0
    end
    next_phase()
    local due = redis.call('ZRANGEBYSCORE', RETRY, '-inf', ms_text(now * SHIFT + SHIFT - 1), 'WITHSCORES', 'LIMIT', 0, most)
    if #due == 0 then
      shorten_backoffs()
    end
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
    return #due / 2
  end
end
