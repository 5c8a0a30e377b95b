-- Keeps what listeners tell of messages in flight: a progress, lines of a log, a result. What was kept long enough goes.
-- KEYS   the slot's prepare queue, its counters, its reports, when they end
-- ARGV   shape, how long progress and lines are kept (ms), most lines, then groups: id, receipt, attempt, progress ('':
--        nothing new), lines ('': none; each ends with a newline), result ('': none), how long that is kept (ms)
-- reply  a status per group: 1 done, 0 stale; error RMQSHAPE <shape>: nothing was done
local now, micros
-- include shared/clock.lua
local PREPARE, STATS, REPORTS, ENDS = unpack(KEYS)
local shape = redis.call('HGET', STATS, 'shape')
if shape and shape ~= ARGV[1] and shape ~= 'f2 ' .. ARGV[1] then -- with holds, see shared/hold_marks.lua
  return redis.error_reply('RMQSHAPE ' .. shape)
end
local KEPT_MS, LINES_MOST, FIRST, WIDTH, SWEPT_MOST = tonumber(ARGV[2]), tonumber(ARGV[3]), 4, 7, 20
local now_text = string.format('%.0f', now)
local longest_ms = 0

local function forget(id)
  redis.call('HDEL', REPORTS, 'p' .. id, 'l' .. id, 'd' .. id, 'r' .. id)
end

-- The lines there were and the new ones, without the oldest of too many.
local function add_lines(id, told, attempt)
  local lines, new = redis.call('HGET', REPORTS, 'l' .. id) or '', {}
  for line in string.gmatch(told, '([^\n]+)\n') do
    new[#new + 1] = now_text .. ' ' .. attempt .. ' ' .. line .. '\n'
  end
  lines = lines .. table.concat(new)
  local _, n = string.gsub(lines, '\n', '')
  if n > LINES_MOST then
    local from = 1
    for _ = 1, n - LINES_MOST do
      from = string.find(lines, '\n', from, true) + 1
    end
    lines = string.sub(lines, from)
    redis.call('HINCRBY', REPORTS, 'd' .. id, n - LINES_MOST)
  end
  redis.call('HSET', REPORTS, 'l' .. id, lines)
end

local statuses = {}
for i = FIRST, #ARGV, WIDTH do
  local id, receipt, attempt, progress, lines, result, result_ms = unpack(ARGV, i, i + WIDTH - 1)
  local valid = tonumber(redis.call('ZSCORE', PREPARE, id) or nil) == tonumber(receipt)
  statuses[#statuses + 1] = valid and 1 or 0
  if valid and progress .. lines .. result ~= '' then
    -- Removed first: a full server refuses a script whose first write adds, and without this nothing would be settled.
    local ends_ms = tonumber(redis.call('ZSCORE', ENDS, id) or 0)
    redis.call('ZREM', ENDS, id)
    if ends_ms <= now or redis.call('HEXISTS', REPORTS, 'r' .. id) == 1 then
      forget(id) -- of an earlier message of this id, or of a call whose end was never heard of
      ends_ms = 0
    end
    local kept_ms = KEPT_MS
    if progress ~= '' then
      redis.call('HSET', REPORTS, 'p' .. id, now_text .. ' ' .. attempt .. ' ' .. progress)
    end
    if lines ~= '' then
      add_lines(id, lines, attempt)
    end
    if result ~= '' then
      kept_ms = math.max(tonumber(result_ms), progress .. lines ~= '' and KEPT_MS or 0)
      local until_text = string.format('%.0f', now + tonumber(result_ms))
      redis.call('HSET', REPORTS, 'r' .. id, now_text .. ' ' .. until_text .. ' ' .. result)
    end
    ends_ms = math.max(ends_ms, now + kept_ms)
    longest_ms = math.max(longest_ms, ends_ms - now)
    redis.call('ZADD', ENDS, string.format('%.0f', ends_ms), id)
  end
end
local old = redis.call('ZRANGEBYSCORE', ENDS, '-inf', now_text, 'LIMIT', 0, SWEPT_MOST)
for _, id in ipairs(old) do
  redis.call('ZREM', ENDS, id)
  forget(id)
end
for _, key in ipairs({REPORTS, ENDS}) do
  if redis.call('PTTL', key) < longest_ms then
    redis.call('PEXPIRE', key, string.format('%.0f', longest_ms))
  end
end
return statuses
