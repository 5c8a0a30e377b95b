-- The names and values of an entry as one text: rmq_core/model/entry.py reads it.
local function written(pairs)
  local parts = {'\2'}
  for i, each in ipairs(pairs) do
    parts[i + 1] = #each .. ':' .. each
  end
  return table.concat(parts)
end
