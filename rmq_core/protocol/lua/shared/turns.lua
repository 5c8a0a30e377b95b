-- What is remembered for a period, in two hashes: the newer one is written; once it is as old as the longest period asked
-- for, the other one is forgotten and takes its place. So nothing is swept: what was written is there for its period, and
-- gone after two. The field '' holds '<began> <longest>'. Needs clock, counting.

local function read_memory(key)
  local began, longest = string.match(redis.call('HGET', key, '') or '', '^(%d+) (%d+)$')
  return {key = key, began = tonumber(began) or -1, longest = tonumber(longest) or 0}
end

local function write_began(memory)
  redis.call('HSET', memory.key, '', ms_text(memory.began) .. ' ' .. ms_text(memory.longest))
end

-- The newer one, and the older. Where the clock has stepped back, all of it is as long ago as it was before that.
local function memories(a, b)
  local newer, older = read_memory(a), read_memory(b)
  if older.began > newer.began then
    newer, older = older, newer
  end
  local ahead = newer.began - now
  if ahead > 0 then
    for _, memory in ipairs({newer, older}) do
      if memory.began >= 0 then
        memory.began = math.max(0, memory.began - ahead)
        -- First: a full server refuses a script whose first write adds.
        redis.call('PEXPIRE', memory.key, ms_text(newer.longest + older.longest))
        write_began(memory)
      end
    end
  end
  return newer, older
end

-- Call before something is written: returns both, in turn, the first of which is written.
local function in_turn(newer, older, period)
  if newer.began < 0 or now >= newer.began + math.max(newer.longest, older.longest) then
    redis.call('UNLINK', older.key)
    newer, older = {key = older.key, began = now, longest = 0}, newer
  end
  if period > newer.longest then
    newer.longest = period
    write_began(newer)
  end
  return newer, older
end

-- Call behind that.
local function ends_by_itself(newer, older)
  redis.call('PEXPIRE', newer.key, ms_text(math.max(newer.longest, older.longest)))
end
