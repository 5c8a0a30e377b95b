-- Cuts a stream to its bounds, a bounded number of entries at a time. Needs shared/stream.lua.
-- Whole nodes go first: that costs next to nothing and has a limit, which an exact cut has not; what then remains to be
-- cut exactly is less than a node, unless there was more than the limit: the next call goes on with that.
local CUT_MOST = 10000

local function cut(by, edge, exact)
  local gone = redis.call('XTRIM', STORE, by, '~', edge, 'LIMIT', CUT_MOST)
  if exact and gone <= CUT_MOST / 2 then
    gone = gone + redis.call('XTRIM', STORE, by, '=', edge)
  end
  return gone
end

-- `length`, `age_ms`: 0 for no such bound.
local function trim(length, age_ms, exactly_long, exactly_old)
  local gone = 0
  if length > 0 then
    gone = cut('MAXLEN', ms_text(length), exactly_long)
  end
  if age_ms > 0 and age_ms < now then
    gone = gone + cut('MINID', ms_text(now - age_ms), exactly_old)
  end
  if gone > 0 then
    count('trimmed', gone)
    if JOURNALING then
      local first = redis.call('XRANGE', STORE, '-', '+', 'COUNT', 1)[1]
      note('trimmed', 's-', first and first[1] or '', gone)
    end
  end
  return gone
end
