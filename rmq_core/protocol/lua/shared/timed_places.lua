-- The places of timed topics: a score's whole part is the time, the rest is the place behind those of the same time that
-- were accepted before. `rmq_core/model/scores.py` tells the arithmetic.
local step_at, timed_place, near, timed_text, places_used

do
  local SPILLS_SWEPT = 64

  -- A double has 53 bits: the later the time, the fewer are left for places.
  function step_at(ms)
    if ms < 2199023255552 then
      return 1 / 4096
    elseif ms < 4398046511104 then
      return 1 / 2048
    end
    return ms < 8796093022208 and 1 / 1024 or 1 / 512
  end

  local found_ends, goes_to = {}, {}
  local spills, latest

  -- Whether the store holds anything of that millisecond or later.
  local function reaches(ms)
    if not latest then
      local top = redis.call('ZREVRANGE', STORE, 0, 0, 'WITHSCORES')
      latest = top[2] and math.floor(tonumber(top[2])) or -1
    end
    return ms <= latest
  end

  -- The last place taken in a millisecond; false: none.
  local function end_of(ms)
    local last = found_ends[ms]
    if last == nil and not reaches(ms) then
      return false
    elseif last == nil then
      local found = redis.call(
        'ZREVRANGEBYSCORE', STORE, '(' .. ms_text(ms + 1), ms_text(ms), 'WITHSCORES', 'LIMIT', 0, 1
      )
      last = found[2] and tonumber(found[2]) or false
      found_ends[ms] = last
    end
    return last
  end

  -- Remembers where the messages of a full millisecond go, until none of them waits any more.
  local function note_spill(ms, to)
    if redis.call('HLEN', SPILL) >= SPILLS_SWEPT then
      local known = redis.call('HGETALL', SPILL)
      for i = 1, math.min(#known, SPILLS_SWEPT * 2), 2 do
        if redis.call('ZCOUNT', STORE, known[i], '(' .. ms_text(known[i + 1] + 1)) == 0 then
          redis.call('HDEL', SPILL, known[i])
        end
      end
    end
    redis.call('HSET', SPILL, ms_text(ms), ms_text(to))
    spills = true
  end

  -- The score of a message that is due at `ms` and accepted now.
  function timed_place(ms)
    local at = goes_to[ms]
    if not at then
      if spills == nil then
        spills = redis.call('EXISTS', SPILL) == 1
      end
      at = spills and tonumber(redis.call('HGET', SPILL, ms_text(ms)) or nil) or ms
      goes_to[ms] = at
    end
    while true do
      local last = end_of(at)
      local score = last and last + step_at(at) or at
      if score < at + 1 then
        found_ends[at] = score
        if goes_to[ms] ~= at then
          goes_to[ms] = at
          note_spill(ms, at)
        end
        return score
      end
      at = at + 1
    end
  end

  -- Whether four digits tell the places of that time apart, exactly: from 2004 to 2039.
  function near(ms)
    return ms >= 1099511627776 and ms < 2199023255552
  end

  -- A score as text: the server's way from a number with a fraction to text is slow.
  function timed_text(ms, score)
    if score == ms then
      return ms_text(ms)
    elseif near(ms) then
      return string.format('%d.%04d', ms, (score - ms) * 10000 + 0.5)
    end
    return string.format('%.17g', score)
  end

  -- The places up to that score have been given.
  function places_used(score)
    found_ends[math.floor(score)] = score
  end
end
