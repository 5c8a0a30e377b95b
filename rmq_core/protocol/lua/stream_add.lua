-- Adds entries to one slot of a stream topic, all or none; what a sender asks for again after a lost answer, once.
-- KEYS   the slot's stream, stats, journal, groups' positions; the sender's memory (none: nothing is asked for again): ' <number>:<first id>:<last id>:<how many>' of each of
--        its calls that may be asked for again
-- ARGV   wake channel, slot, shape, number of the call, lowest number of the sender's calls without an answer,
--        length to keep and age to keep (ms) of the slot (0: any), trim (exact|nearly), what groups have not finished
--        (kept|cut), how (plain|each), then
--        plain: contents; each: id ('*': the next), how many names and values, name, value, …
-- reply  {1 if it was done before, id, id, …: '' where the entry is not known any more}
--        error RMQSHAPE <shape>, RMQJOURNAL <entries>, RMQID <last id> where an id of one's own is not larger than all
--        before it, or no larger one is left: nothing was added
-- include shared/stream.lua
-- include shared/positions.lua
-- include shared/trimming.lua
-- include shared/last_id.lua
-- include shared/written.lua

local FIRST, MEMORY_MS = 11, 600000
local CHANNEL, SLOT, SHAPE, NUMBER, FLOOR, PLAIN = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[10] == 'plain'

local unfit = marks[2] and misfit(SHAPE) or not marks[2] and redis.error_reply('RMQSHAPE none') -- as shared/sending.lua
if unfit then
  return unfit
end

local memory = SENDER and redis.call('GET', SENDER) or ''
local from, to, number = string.match(memory, ' ' .. NUMBER .. ':(%S+):(%S+):(%d+)')
if from then
  -- Nobody else came in between.
  local found, reply = redis.call('XRANGE', STORE, from, to), {1}
  for i = 1, tonumber(number) do
    reply[i + 1] = #found == tonumber(number) and found[i][1] or ''
  end
  return reply
end

if JOURNALING then
  local limit, held = tonumber(string.match(MARK, '(%d+)$')), redis.call('XLEN', JOURNAL)
  if limit > 0 and held >= limit then
    return redis.error_reply(string.format('RMQJOURNAL %d', held))
  end
end

local reply, problem = {0}, nil
local added = 1

local function accepted(id, ...)
  if type(id) == 'table' then
    problem = id
    return false
  end
  added = added + 1
  reply[added] = id
  if JOURNALING then
    note('sent', 'ns', id, 0, JOURNAL_FULL and written({...}) or nil)
  end
  return true
end

if PLAIN and not JOURNALING then
  -- As little work for each as can be: this loop is most of a large send.
  local pcall = redis.pcall
  for at = FIRST, #ARGV do
    local id = pcall('XADD', STORE, '*', 'v', ARGV[at])
    if type(id) == 'table' then
      problem = id
      break
    end
    added = added + 1
    reply[added] = id
  end
elseif PLAIN then
  for at = FIRST, #ARGV do
    if not accepted(redis.pcall('XADD', STORE, '*', 'v', ARGV[at]), 'v', ARGV[at]) then
      break
    end
  end
else
  local at = FIRST
  while at <= #ARGV do
    local last = at + 1 + tonumber(ARGV[at + 1])
    if not accepted(redis.pcall('XADD', STORE, ARGV[at], unpack(ARGV, at + 2, last)), unpack(ARGV, at + 2, last)) then
      break
    end
    at = last + 1
  end
end

if problem then
  for i = 2, added do
    redis.call('XDEL', STORE, reply[i])
  end
  if added > 1 and redis.call('HEXISTS', STATS, 'taken_back') == 1 then
    redis.call('HINCRBY', STATS, 'taken_back', added - 1) -- the server goes on counting them as added
  end
  local text = tostring(problem.err)
  if string.find(text, 'equal or smaller', 1, true) or string.find(text, 'exhausted', 1, true) then
    return redis.error_reply('RMQID ' .. last_id(STORE))
  end
  return redis.error_reply(text)
end

if SENDER then
  local kept = {}
  for known, rest in string.gmatch(memory, ' (%d+)(:%S+)') do
    if tonumber(known) >= FLOOR then
      kept[#kept + 1] = ' ' .. known .. rest
    end
  end
  kept[#kept + 1] = string.format(' %s:%s:%s:%d', NUMBER, reply[2], reply[added], added - 1)
  redis.call('SET', SENDER, table.concat(kept), 'PX', MEMORY_MS)
end

count('sent', added - 1)
local exact = ARGV[8] == 'exact'
trim(tonumber(ARGV[6]), tonumber(ARGV[7]), exact, exact, ARGV[9] == 'cut')
write_counts()
redis.call('PUBLISH', CHANNEL, SLOT .. ' ' .. string.match(reply[2], '^%d+'))
return reply
