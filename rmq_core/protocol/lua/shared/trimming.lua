-- Cuts a stream to its bounds, a bounded number of entries at a time, but for what a durable group has not finished. Needs
-- shared/stream.lua, shared/positions.lua.
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

-- How many entries were ever added.
local function added_in_all()
  return tonumber(redis.call('HGET', STATS, 'sent') or nil or 0) + (counted.sent or 0)
end

-- How many of the last entries durable groups need, and the first of these (nil: none).
local function needed_by(groups, added)
  local needed, first = 0, nil
  for _, at in pairs(groups) do
    if not at.cursor then -- spoiled by hand: nobody knows what it needs
      return added, '0-0'
    end
    if at.durable then
      needed = math.max(needed, added - at.first_number + 1)
      if not first or before(at.first, first) then
        first = at.first
      end
    end
  end
  return needed, first
end

-- The groups' positions; how many entries were ever added, where there are groups; how many of the last, and from which id
-- on, no trim may take. `whatever`: what groups have not finished goes, too.
local function in_the_way(whatever)
  local groups, rows = {}, redis.call('HGETALL', POSITIONS)
  for i = 1, #rows, 2 do
    groups[rows[i]] = read_position(rows[i + 1])
  end
  local added = #rows > 0 and added_in_all() or 0
  return groups, added, needed_by(whatever and {} or groups, added)
end

-- Before which id what is too old ends; nil: there can be nothing.
local function edge_of(age_ms, first_needed)
  if age_ms == 0 or age_ms >= now then
    return nil
  end
  local edge = ms_text(now - age_ms) .. '-0'
  if first_needed and before(first_needed, edge) then
    edge = first_needed
  end
  return edge ~= '0-0' and edge or nil
end

-- `length`, `age_ms`: 0 for no such bound.
local function trim(length, age_ms, exactly_long, exactly_old, whatever)
  if length == 0 and age_ms == 0 then
    return 0
  end
  local groups, added, needed, first_needed = in_the_way(whatever)
  local gone, edge = 0, edge_of(age_ms, first_needed)
  if length > 0 then
    gone = cut('MAXLEN', ms_text(math.max(length, needed)), exactly_long)
  end
  if edge then
    gone = gone + cut('MINID', edge, exactly_old)
  end
  if gone == 0 then
    return 0
  end
  count('trimmed', gone)
  local first = redis.call('XRANGE', STORE, '-', '+', 'COUNT', 1)[1]
  local left = redis.call('XLEN', STORE)
  for name, at in pairs(groups) do
    if at.cursor and added - at.number > left and (not first or before(at.cursor, first[1])) then
      pass_over(at, added - at.number - left)
      redis.call('HSET', POSITIONS, name, position_text(at))
    end
  end
  if JOURNALING then
    note('trimmed', 's-', first and first[1] or '', gone)
  end
  return gone
end
