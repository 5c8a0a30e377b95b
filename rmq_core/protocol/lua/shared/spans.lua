-- Short lists of spans of time in a field of a slot, '<first> <last> [<when> ]' for each, the earliest first.

-- Adds one. Those that are over go; where there are too many, the two become one that are closest to each other, in when
-- they were noted, too: across a step of the clock nothing is near.
function stepped.add_span(kept, span)
  local MOST = 32
  local spans = {span}
  for _, each in ipairs(kept) do
    if each[1] <= span[1] and each[2] >= span[2] and each[3] == span[3] then
      return kept
    elseif each[2] > now then
      spans[#spans + 1] = each
    end
  end
  table.sort(spans, function(a, b) return a[1] < b[1] end)
  if #spans > MOST then
    local least, at = math.huge, 1
    for i = 1, #spans - 1 do
      local a, b = spans[i], spans[i + 1]
      local apart = b[1] - a[2] + math.abs((b[3] or 0) - (a[3] or 0))
      if apart < least then
        least, at = apart, i
      end
    end
    local a, b = spans[at], table.remove(spans, at + 1)
    spans[at] = {a[1], math.max(a[2], b[2]), a[3] and math.min(a[3], b[3])}
  end
  return spans
end
