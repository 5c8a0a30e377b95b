-- Which receipts are ahead of the clock on purpose: the field `extensions` holds '<first> <last> <when> ' for each extension
-- beyond a timeout that has not come to its end. Needs shared/stepping.lua, shared/spans.lua.

function stepped.extensions()
  local found = {}
  for first, last, at in string.gmatch(redis.call('HGET', STATS, 'extensions') or '', '(%d+) (%d+) (%d+) ') do
    found[#found + 1] = {tonumber(first), tonumber(last), tonumber(at)}
  end
  return found
end

function stepped.note_extended(first, last)
  local text = {}
  for _, each in ipairs(stepped.add_span(stepped.extensions(), {first, last, now})) do
    text[#text + 1] = string.format('%.0f %.0f %.0f ', each[1], each[2], each[3])
  end
  redis.call('HSET', STATS, 'extensions', table.concat(text))
  -- Releases before this one look at the latest alone.
  local known = tonumber(redis.call('HGET', STATS, 'extended_to') or nil) or 0
  redis.call('HSET', STATS, 'extended_to', ms_text(math.max(known, last)))
end
