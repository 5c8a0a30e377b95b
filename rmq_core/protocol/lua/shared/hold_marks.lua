-- The keys of which nothing is handed out for now. The mark 'holds' of a slot lists them, one behind the other, each as
-- '<number> <i(d), b(asis), f(ailure), o(rder), t(enant), k(ey limit)> <since_ms> <until_ms, 0: until it is lifted> <length of the key> <of the note>
-- <key><note>'.
-- One of a failure keeps back the others of a slot basis while the message that failed, its note, is there. That of order
-- keeps back all versions of the slot that wait for one before them: see shared/order.lua.
-- That of the key limit, its note, keeps back all of the slot of whose basis as many are in flight as may be: see
-- shared/key_limit.lua.
-- That of a tenant keeps back what has failed of one who is held: see shared/tenant_limits.lua.
-- As long as there are any, the slot's shape is marked with format 2: releases that know no holds are refused.
-- Needs marks.
local HOLDS
local hold_end -- tells when the first of them ends; nil: none does by itself

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
  end
end

if HOLDS or LISTS_HOLDS then
  -- Whoever cancels the message that failed, or lets it expire, tells nobody: so often it is looked for.
  local FAILED_LOOK_MS = 1000

  -- What a message is of: the slot basis that its sender gave, else its id.
  function limits.basis_of(id, body)
    local length, from
    if body then
      length, from = string.match(body, '^\1%d+ (%d+) %d+ ()')
      if not length then
        length, from = string.match(body, '^\3%S+ %d+ (%d+) %d+ ()')
      end
    end
    return length and length ~= '0' and string.sub(body, from, from + length - 1) or id
  end

  function hold_end()
    local first, notes, there = nil, {}, {}
    for _, hold in ipairs(HOLDS or {}) do
      if hold.kind == 'f' then
        notes[#notes + 1] = hold.note
      end
      if hold.kind == 't' and limits.known and not (limits.held and limits.held('t' .. hold.key)) then
        first = now -- nobody holds this tenant any more
      end
      if hold.kind == 'k' then
        first = math.min(first or math.huge, limits.key_look())
      end
      -- One that failed, and is in flight again, or whose end somebody has moved, is looked for as the others are.
      if hold.until_ms > (hold.kind == 'f' and now or 0) then
        first = math.min(first or hold.until_ms, hold.until_ms)
      end
    end
    if ORDER and ORDER.skip_after > 0 then
      local since = redis.call('ZRANGE', ORDER_SINCE, 0, 0, 'WITHSCORES')[2]
      first = since and math.min(first or since + ORDER.skip_after, since + ORDER.skip_after) or first
    end
    if #notes == 0 then
      return first
    end
    for _, queue in ipairs({STORE, RETRY, PREPARE}) do
      for i, score in ipairs(redis.call('ZMSCORE', queue, unpack(notes))) do
        there[i] = there[i] or score
      end
    end
    for i = 1, #notes do
      if not there[i] then
        return now
      end
    end
    return math.min(first or now + FAILED_LOOK_MS, now + FAILED_LOOK_MS)
  end
end
