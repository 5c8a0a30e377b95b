-- What a route brings to one slot of a target: whether it can be taken, and the taking. Each of the including scripts is a
-- function here, with keys and arguments of its own. Needs no other fragment.
-- A target: {keys, args, n (messages), sort (inline|pooled|stream), version of a definition with a max_backlog ('': it has
-- none)}; its keys are those of send.lua and send_pooled.lua, or of stream_add.lua without a sender's memory, and behind
-- them that of its quota; its args theirs.
local ADDS, SHAPE_AT, STATS_AT, JOURNAL_AT = {}, {}, {}, {}

function ADDS.inline(KEYS, ARGV)
-- include send.lua
end

function ADDS.pooled(KEYS, ARGV)
-- include send_pooled.lua
end

function ADDS.stream(KEYS, ARGV)
-- include stream_add.lua
end

SHAPE_AT.inline, SHAPE_AT.pooled, SHAPE_AT.stream = 5, 5, 3
STATS_AT.inline, STATS_AT.pooled, STATS_AT.stream = 8, 8, 2
JOURNAL_AT.inline, JOURNAL_AT.pooled, JOURNAL_AT.stream = 9, 9, 3

-- Why a target cannot take `n` messages now, as a text; nil: it can.
local function cannot_take(target, n)
  local keys, sort = target.keys, target.sort
  local marks = redis.call('HMGET', keys[STATS_AT[sort]], 'shape', 'journal')
  local shape = target.args[SHAPE_AT[sort]]
  if marks[1] ~= shape and marks[1] ~= 'f2 ' .. shape then
    return 'RMQSHAPE ' .. (marks[1] or 'none')
  end
  if marks[2] and string.byte(marks[2]) ~= 111 then -- o(ff)
    local limit = tonumber(string.match(marks[2], '(%d+)$'))
    local held = limit > 0 and redis.call('XLEN', keys[JOURNAL_AT[sort]])
    if held and held >= limit then
      return string.format('RMQJOURNAL %d', held)
    end
  end
  if target.version ~= '' then
    local version, _, limit = string.match(redis.call('GET', keys[#keys]) or '', '^(%d+) (%d+) (%d+)$')
    local room = version and tonumber(version) >= tonumber(target.version)
      and tonumber(limit) - redis.call('ZCARD', keys[1]) - redis.call('ZCARD', keys[2]) or 0
    if room < n then
      return 'RMQFULL ' .. math.max(0, room)
    end
  end
  return nil
end

-- Returns what the script does, an error it may be.
local function bring(target, by)
  local keys = {by = by}
  for i = 1, #target.keys - 1 do
    keys[i] = target.keys[i]
  end
  return ADDS[target.sort](keys, target.args)
end

-- Reads a target from ARGV[at…]: sort, version, how many keys, how many fixed arguments, these, how many rows, how many
-- values a row has ('': each says so itself), and of each row its mark (and number of values), its values. `key`: its first
-- key's place; `keeps(mark)`: whether a row is wanted. Returns it, and both places behind it.
local function read_target(at, key, keeps)
  local args, n = {}, 0
  local keys, fixed, rows, width = {}, tonumber(ARGV[at + 3]), nil, nil
  local target = {sort = ARGV[at], version = ARGV[at + 1], keys = keys, args = args}
  for i = 1, tonumber(ARGV[at + 2]) do
    keys[i] = KEYS[key + i - 1]
  end
  at = at + 4
  for i = 1, fixed do
    args[i] = ARGV[at + i - 1]
  end
  at = at + fixed
  rows, width = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  at = at + 2
  local last = fixed
  for _ = 1, rows do
    local from, values = at + 1, width
    if not values then
      values, from = tonumber(ARGV[from]), from + 1
    end
    if keeps(ARGV[at]) then
      n = n + 1
      for i = from, from + values - 1 do
        last = last + 1
        args[last] = ARGV[i]
      end
    end
    at = from + values
  end
  target.n = n
  return target, at, key + #keys
end
