-- Of what waits in retry, which due times somebody gave it: the field `given` holds '<first> <last> ' for each, and no step
-- of the clock changes them. Where there are too many the two earliest become one. Needs keys, clock.
function stepped.note_given(due_ms)
  local MOST = 32
  local kept = {{due_ms, due_ms}}
  for first, last in string.gmatch(redis.call('HGET', STATS, 'given') or '', '(%d+) (%d+) ') do
    first, last = tonumber(first), tonumber(last)
    if due_ms >= first and due_ms <= last then
      return
    elseif last > now then
      kept[#kept + 1] = {first, last}
    end
  end
  table.sort(kept, function(a, b) return a[1] < b[1] end)
  if #kept > MOST then
    local earliest = table.remove(kept, 1)
    kept[1] = {earliest[1], math.max(earliest[2], kept[1][2])}
  end
  for i, each in ipairs(kept) do
    kept[i] = string.format('%.0f %.0f ', each[1], each[2])
  end
  redis.call('HSET', STATS, 'given', table.concat(kept))
end

function stepped.was_given(due_ms)
  for first, last in string.gmatch(redis.call('HGET', STATS, 'given') or '', '(%d+) (%d+) ') do
    if due_ms >= tonumber(first) and due_ms <= tonumber(last) then
      return true
    end
  end
  return false
end
