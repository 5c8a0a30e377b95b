-- Of what waits in retry, which due times somebody gave it: the field `given` holds '<first> <last> ' for each, and no step
-- of the clock changes them. Needs keys, clock, shared/spans.lua.
local function given()
  local found = {}
  for first, last in string.gmatch(redis.call('HGET', STATS, 'given') or '', '(%d+) (%d+) ') do
    found[#found + 1] = {tonumber(first), tonumber(last)}
  end
  return found
end

function stepped.note_given(due_ms)
  local text = {}
  for _, each in ipairs(stepped.add_span(given(), {due_ms, due_ms})) do
    text[#text + 1] = string.format('%.0f %.0f ', each[1], each[2])
  end
  redis.call('HSET', STATS, 'given', table.concat(text))
end

function stepped.was_given(due_ms)
  for _, each in ipairs(given()) do
    if due_ms >= each[1] and due_ms <= each[2] then
      return true
    end
  end
  return false
end
