-- The keys of which nothing is handed out for now. The mark 'holds' of a slot lists them, one behind the other, each as
-- '<number> <i(d) or b(asis)> <since_ms> <until_ms, 0: until it is lifted> <length of the key> <of the note> <key><note>'.
-- As long as there are any, the slot's shape is marked with format 2: releases that know no holds are refused.
-- Needs marks.
local HOLDS
local HOLD_END -- of the first that ends; nil: none does by itself

if marks[2] and string.sub(marks[2], 1, 3) == HELD_FORMAT then
  local text, at = redis.call('HGET', STATS, 'holds') or '', 1
  HOLDS = {}
  while at <= #text do
    local number, kind, since, till, key, note, from = string.match(
      text, '^(%d+) (%a) (%d+) (%d+) (%d+) (%d+) ()', at
    )
    local middle = from + tonumber(key)
    at = middle + tonumber(note)
    HOLDS[#HOLDS + 1] = {
      number = tonumber(number), kind = kind, since_ms = tonumber(since), until_ms = tonumber(till),
      key = string.sub(text, from, middle - 1), note = string.sub(text, middle, at - 1),
    }
    if till ~= '0' then
      HOLD_END = math.min(HOLD_END or tonumber(till), tonumber(till))
    end
  end
end
