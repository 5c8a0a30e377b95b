-- Ids that were accepted within a period, as marks of at most 16 bytes: in two hashes, mark → ms after the hash began. The
-- newer one is written; once it is as old as the longest period asked for, the other one is forgotten and takes its place.
-- So an id is remembered for its period to the millisecond, and is gone after two. The field '' holds '<began> <longest>'.
local newer, older

local function read_memory(key)
  local began, longest = string.match(redis.call('HGET', key, '') or '', '^(%d+) (%d+)$')
  return {key = key, began = tonumber(began) or -1, longest = tonumber(longest) or 0}
end

local function write_memory(memory)
  redis.call('HSET', memory.key, '', ms_text(memory.began) .. ' ' .. ms_text(memory.longest))
end

local function read_both()
  newer, older = read_memory(ONCE_A), read_memory(ONCE_B)
  if older.began > newer.began then
    newer, older = older, newer
  end
  local ahead = newer.began - now
  if ahead > 0 then -- the clock has stepped back: all of it is as long ago as it was before that
    for _, memory in ipairs({newer, older}) do
      if memory.began >= 0 then
        memory.began = math.max(0, memory.began - ahead)
        write_memory(memory)
        redis.call('PEXPIRE', memory.key, ms_text(newer.longest + older.longest))
      end
    end
  end
end

-- When an id was accepted within `period` ms before now; nil: it was not.
local function accepted_before(mark, period)
  if not newer then
    read_both()
  end
  for _, memory in ipairs({newer, older}) do
    local after = memory.began >= 0 and redis.call('HGET', memory.key, mark)
    if after and memory.began + after + period > now then
      return memory.began + after
    end
  end
  return nil
end

-- Call behind accepted_before.
local function remember(mark, period)
  if newer.began < 0 or now >= newer.began + math.max(newer.longest, older.longest) then
    redis.call('UNLINK', older.key)
    newer, older = {key = older.key, began = now, longest = 0}, newer
  end
  if period > newer.longest then
    newer.longest = period
    write_memory(newer)
  end
  redis.call('HSET', newer.key, mark, ms_text(math.max(0, now - newer.began)))
  redis.call('PEXPIRE', newer.key, ms_text(math.max(newer.longest, older.longest)))
end
