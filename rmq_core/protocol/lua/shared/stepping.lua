-- What is ahead of the clock, because that has stepped back: deliveries and whatever waits for its next try.
-- Needs keys, clock, marks, policy. A block, for a script may have 200 locals at most.
limits.stepped = {}
do
  local stepped = limits.stepped
-- include shared/spans.lua
-- include shared/extended.lua
-- include shared/given_times.lua
  -- An owner's receipts run ahead of the clock by a millisecond for each of a batch.
  local AHEAD_MS, LOOKED_AT = 2000, 1000

  -- How long after the step a delivery whose receipt is that far ahead has its time; nil: it was extended on purpose.
  local function allowed_ms(at_ms, known, older_to)
    for _, each in ipairs(known) do
      if at_ms >= each[1] and at_ms <= each[2] then
        return each[3] > now + AHEAD_MS and each[2] - each[3] + TIMEOUT_MS or nil
      end
    end
    return at_ms > older_to and TIMEOUT_MS or nil
  end

  -- {id, receipt, for how long (ms) it has its time} of deliveries that seem to have been taken in the future.
  function stepped.taken()
    local found = redis.call(
      'ZRANGEBYSCORE', PREPARE, '(' .. ms_text((now + AHEAD_MS) * SHIFT), '+inf', 'WITHSCORES', 'LIMIT', 0, LOOKED_AT
    )
    local taken = {}
    if #found == 0 then
      return taken
    end
    local known, older_to = stepped.extensions(), tonumber(redis.call('HGET', STATS, 'extended_to') or nil) or 0
    for _, each in ipairs(known) do
      if each[2] >= older_to then
        older_to = 0 -- it is one of these
      end
    end
    for i = 1, #found, 2 do
      local for_ms = allowed_ms(math.floor(tonumber(found[i + 1]) / SHIFT), known, older_to)
      if for_ms then
        taken[#taken + 1] = {found[i], found[i + 1], for_ms}
      end
    end
    return taken
  end

  -- When these were first seen, as the clock is now; nil: not yet, or it has stepped again. The field `stepped_back` holds
  -- that moment, and when somebody last looked: what was taken since is no older than that.
  function stepped.since()
    local since, looked = string.match(marks[6] or '', '^(%d+) (%d+)$')
    return since and now >= tonumber(looked) and tonumber(since) or nil
  end

  -- Call before anything is taken, or extended. `since`: as above; nil: nothing is ahead any more.
  function stepped.note(since)
    if since or marks[6] then
      redis.call('HDEL', STATS, 'stepped_back') -- first: a full server refuses a script whose first write adds
      marks[6] = since and ms_text(since) .. ' ' .. ms_text(now)
      if since then
        redis.call('HSET', STATS, 'stepped_back', marks[6])
      end
    end
  end

  -- From where on all that waits is to be walked through, and the longest delay among it; nil: there is no need. The field
  -- `waits` says when something was last given a back-off or a delay, `waits_at` how far an unfinished walk has come.
  function stepped.walk()
    local waits, at = unpack(redis.call('HMGET', STATS, 'waits', 'waits_at'))
    local from, longest = string.match(waits or '', '^(%d+) (%d+)$')
    if from and tonumber(from) > now + AHEAD_MS then
      at = ms_text(now * SHIFT)
    end
    return from and at or nil, longest
  end

  -- When somebody is to look at the slot for all that; nil: never.
  function stepped.due_ms()
    if redis.call('EXISTS', RETRY) == 1 and stepped.walk() then
      return now
    end
    local taken, since, first = stepped.taken(), stepped.since(), nil
    for _, each in ipairs(taken) do
      first = math.min(first or math.huge, since and since + each[3] or now)
    end
    return first
  end
end
