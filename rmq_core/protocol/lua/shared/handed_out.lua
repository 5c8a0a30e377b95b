-- No two deliveries of a message have one receipt, though it tells only the millisecond: what comes back in the one in
-- which it was handed out gets a later one next time. An owner's need no such care, for nobody else settles there.
-- Needs keys, clock, counting, marks, policy.
local handed_out = {}

do
  -- Receipts run ahead of the clock by so much at most; what would be further ahead waits for the next millisecond.
  local AHEAD_MOST = 1000

  -- The time that receipts of this take tell; nil: nothing can be handed out in this millisecond.
  function handed_out.from()
    local from = tonumber(marks[5] or nil)
    if not from or from <= now or from > now + AHEAD_MOST + 1 then
      return now -- or the clock has stepped back
    end
    return from <= now + AHEAD_MOST and from or nil
  end

  -- By how many milliseconds those times are ahead of the clock.
  function handed_out.ahead()
    return (handed_out.from() or now) - now
  end

  -- Call for a delivery that has come back uncounted. What is later than any take could say was extended; what comes
  -- after that one need not be.
  function handed_out.came_back(receipt)
    local ms, from = math.floor(receipt / SHIFT), handed_out.from() or now + AHEAD_MOST + 1
    if EPOCH == '' and ms >= now and ms <= math.min(from, now + AHEAD_MOST) and ms + 1 > (from > now and from or 0) then
      marks[5] = ms_text(ms + 1)
      redis.call('HSET', STATS, 'receipts_from', marks[5])
    end
  end
end
