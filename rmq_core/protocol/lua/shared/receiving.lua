-- What a route brings to one slot of a target: whether it can be taken, and the taking. Each of the including scripts is a
-- function here, with keys and arguments of its own. Needs no other fragment.
-- A target: {keys, fixed, sort (queue|stream), version of a definition with a max_backlog ('': it has none)}; its keys are
-- those of send_pooled.lua, or stream_add.lua without a sender's memory, and behind them that of its quota.
local function add_to_queue(KEYS, ARGV)
-- include send_pooled.lua
end

local function add_to_stream(KEYS, ARGV)
-- include stream_add.lua
end

local SHAPE_AT = {queue = 5, stream = 3}
local STATS_AT = {queue = 8, stream = 2}
local JOURNAL_AT = {queue = 9, stream = 3}

-- Why a target cannot take `n` messages now, as a text; nil: it can.
local function cannot_take(target, n)
  local keys, sort = target.keys, target.sort
  local marks = redis.call('HMGET', keys[STATS_AT[sort]], 'shape', 'journal')
  if marks[1] and marks[1] ~= target.fixed[SHAPE_AT[sort]] then
    return 'RMQSHAPE ' .. marks[1]
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

-- `rows`: lists of arguments, one per message. Returns what the script does, an error it may be.
local function bring(target, rows, by)
  local args, keys = {}, {by = by}
  for i, each in ipairs(target.fixed) do
    args[i] = each
  end
  local at = #args
  for _, row in ipairs(rows) do
    for _, each in ipairs(row) do
      at = at + 1
      args[at] = each
    end
  end
  for i = 1, #target.keys - 1 do
    keys[i] = target.keys[i]
  end
  return (target.sort == 'queue' and add_to_queue or add_to_stream)(keys, args)
end

-- Reads a target from ARGV[at…]: sort, version, how many keys, how many fixed arguments, these, how many rows, and of each
-- its mark, its width, its values. `key`: its first key's place. Returns it with its rows ({mark = …, value, …}), and both
-- places behind it.
local function read_target(at, key)
  local target = {sort = ARGV[at], version = ARGV[at + 1], keys = {}, fixed = {}, rows = {}}
  local keys, fixed = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  for i = 1, keys do
    target.keys[i] = KEYS[key + i - 1]
  end
  at = at + 4
  for i = 1, fixed do
    target.fixed[i] = ARGV[at + i - 1]
  end
  at = at + fixed
  local rows = tonumber(ARGV[at])
  at = at + 1
  for i = 1, rows do
    local row, width = {mark = ARGV[at]}, tonumber(ARGV[at + 1])
    for j = 1, width do
      row[j] = ARGV[at + 1 + j]
    end
    target.rows[i] = row
    at = at + 2 + width
  end
  return target, at, key + keys
end
