-- Where a group stands in its slot, as POSITIONS holds it under the group's name:
-- '<cursor> <number> <furthest> <first open> <its number> <missed> <d|n>'. `cursor`: the entry read last; `number`: how many of
-- the entries ever added are not ahead of the group, so that the slot's `sent` minus that is its lag; `furthest`: the
-- largest cursor there was; the first entry that is read and not finished, and its number: the next to be read where there
-- is none; both below zero where somebody wrote into the stream around us. `missed`: how many went before the group had read them. `d`: trimming waits for the group.
-- Numbers of 64 bits, without leading zeros, as text.
local function less(a, b)
  if #a ~= #b then
    return #a < #b
  end
  for i = 1, #a do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then
      return x < y
    end
  end
  return false
end

-- Whether a stream takes it as an id: two numbers of 64 bits.
local function is_id(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return not less('18446744073709551615', ms) and not less('18446744073709551615', seq)
end

-- Whether so much was never counted: of more than 17 digits, beside a minus.
local function too_long(count)
  return #count > (string.byte(count) == 45 and 18 or 17)
end

-- Of a text that somebody has spoiled by hand nothing is there, not even a cursor.
local function read_position(text)
  local cursor, number, furthest, first, first_number, missed, durable = string.match(
    text, '^(%d+%-%d+) (%-?%d+) (%d+%-%d+) (%d+%-%d+) (%-?%d+) (%d+) ([dn])$'
  )
  if not cursor or not (is_id(cursor) and is_id(furthest) and is_id(first)) then
    return {}
  end
  if too_long(number) or too_long(first_number) or too_long(missed) then
    return {}
  end
  return {
    cursor = cursor, number = tonumber(number), furthest = furthest, first = first, first_number = tonumber(first_number),
    missed = tonumber(missed), durable = durable == 'd',
  }
end

local function position_text(at)
  return string.format(
    '%s %.0f %s %s %.0f %.0f %s',
    at.cursor, at.number, at.furthest, at.first, at.first_number, at.missed, at.durable and 'd' or 'n'
  )
end

-- Whether an id comes before another one.
local function before(a, b)
  local a_ms, a_seq = string.match(a, '^(%d+)-(%d+)$')
  local b_ms, b_seq = string.match(b, '^(%d+)-(%d+)$')
  if a_ms == b_ms then
    return less(a_seq, b_seq)
  end
  return less(a_ms, b_ms)
end

-- `n` entries ahead of the group are gone.
local function pass_over(at, n)
  if at.first == at.cursor and at.first_number == at.number + 1 then -- nothing is open
    at.first_number = at.first_number + n
  end
  at.number, at.missed = at.number + n, at.missed + n
end
