-- One journal entry per call, written together with the change: `rmq_core/journal/entries.py` tells the layout.
-- Needs clock, counting, marks.
local items_of, entered, number_of, last_of
-- '<host> <worker>' of the worker that makes the change, where one does; see shared/policy.lua, shared/receiving.lua.
local changed_by = KEYS.by

local function begin_entry()
  local entry = {now}
  entered, number_of, last_of = {}, {}, {}

  -- The ids and details of one event on one way ('sp': from store to prepare), in the order of what happens to an id.
  function items_of(event, route)
    local known = entered[event .. route]
    if not known then
      known = {event, route, {}}
      entered[event .. route] = known
      entry[#entry + 1] = known
      number_of[known] = #entry
    end
    return known[3], known
  end

  -- Redis has cmsgpack, in C; other servers that run our scripts (fakeredis) may not.
  local function pack(value)
    local function number(tag, left, bytes)
      local digits = {}
      for i = bytes, 1, -1 do
        digits[i] = string.char(left % 256)
        left = math.floor(left / 256)
      end
      return string.char(tag) .. table.concat(digits)
    end
    if type(value) == 'number' then
      if value ~= math.floor(value) then
        value = string.format('%.17g', value) -- readers take numbers as text, too
        return number(0xdb, #value, 4) .. value
      end
      return number(0xcf, value, 8)
    elseif type(value) == 'string' then
      return number(0xdb, #value, 4) .. value
    elseif not value then
      return string.char(0xc2)
    end
    local parts = {number(0xdd, #value, 4)}
    for i = 1, #value do
      parts[i + 1] = pack(value[i])
    end
    return table.concat(parts)
  end

  function write_journal(id)
    if #entry > 1 then
      local n = redis.call('HINCRBY', STATS, 'journaled', 1)
      local packed = (cmsgpack and cmsgpack.pack or pack)(entry)
      if changed_by then
        redis.call('XADD', JOURNAL, id or '*', 'n', n, 'v', packed, 'w', changed_by)
      else
        redis.call('XADD', JOURNAL, id or '*', 'n', n, 'v', packed)
      end
    end
  end
end

if JOURNALING then
  begin_entry()
end

-- What follows may concern the same ids again: it is listed behind all that came before.
local function next_phase()
  entered, last_of = {}, {}
end

-- `body` is for events that say what the content is from now on: false where it stays as it was.
local function note(event, route, id, detail, body)
  if not JOURNALING then
    return
  end
  local items, known = items_of(event, route)
  local last = last_of[id]
  if last and last >= number_of[known] then -- that group has begun before the last thing that happened to this id
    next_phase()
    items, known = items_of(event, route)
  end
  last_of[id] = number_of[known]
  items[#items + 1] = id
  items[#items + 1] = detail
  if JOURNAL_FULL and body ~= nil then
    known[4] = known[4] or {}
    known[4][#items / 2] = body
  elseif body and body ~= '' then
    -- Without the body, that there is one, and its slot basis: what a message belongs together with must not be lost.
    known[4], known[5], known[6] = false, known[5] or {}, (known[6] or 0) + 1
    if string.byte(body) ~= 1 and string.byte(body) ~= 3 then
      return
    end
    local before = string.byte(body) == 3 and '^\3%S+ %d+' or '^\1%d+'
    local length, from = string.match(body, before .. ' (%d+) %d+ ()')
    if length ~= '0' then
      table.insert(known[5], #items / 2)
      table.insert(known[5], string.sub(body, from, from + length - 1))
    end
  end
end
