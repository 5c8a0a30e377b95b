-- Which receipts are ahead of the clock on purpose: the field `extensions` holds '<first> <last> <when> ' for each extension
-- beyond a timeout that has not come to its end; the two earliest become one where there are too many. Needs shared/stepping.lua.

function stepped.extensions()
  local found = {}
  for first, last, at in string.gmatch(redis.call('HGET', STATS, 'extensions') or '', '(%d+) (%d+) (%d+) ') do
    found[#found + 1] = {tonumber(first), tonumber(last), tonumber(at)}
  end
  return found
end

function stepped.note_extended(first, last)
  local MOST = 32
  local kept = {}
  for _, each in ipairs(stepped.extensions()) do
    if each[2] > now then
      kept[#kept + 1] = each
    end
  end
  kept[#kept + 1] = {first, last, now}
  if #kept > MOST then
    table.sort(kept, function(a, b) return a[1] < b[1] end)
    local a = table.remove(kept, 1)
    kept[1] = {a[1], math.max(a[2], kept[1][2]), math.min(a[3], kept[1][3])}
  end
  local text = {}
  for i, each in ipairs(kept) do
    text[i] = string.format('%.0f %.0f %.0f ', each[1], each[2], each[3])
  end
  redis.call('HSET', STATS, 'extensions', table.concat(text))
  -- Releases before this one look at the latest alone.
  local known = tonumber(redis.call('HGET', STATS, 'extended_to') or nil) or 0
  redis.call('HSET', STATS, 'extended_to', ms_text(math.max(known, last)))
end
