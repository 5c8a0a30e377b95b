-- What a slot would hand out first, for whoever chooses between slots; reads only, and is made to cost little.
-- KEYS   the slot's keys
-- ARGV   timed (1|0), timeout_ms, most, generation of a definition with `concurrency` ('': there is none)
-- reply  {flags, score, …}   flags: 1 where the first may have to be taken alone, and 2 for each that the slot has a permit for
--        scores in the order they would be taken, without those that wait for their own earlier delivery, up to what must
--        be taken alone; a retry that is due counts as 1
-- include shared/keys.lua
-- include shared/clock.lua
-- include shared/permits.lua

local TIMED, timeout_ms, most = ARGV[1] == '1', tonumber(ARGV[2]), tonumber(ARGV[3])
local PASSED_OVER_MOST = 1000

-- Where tenants take turns (shared/lanes.lua), and none of those may have anything now, only what has no turn comes.
local LANE, LANES_MOST, PARKED_FROM, FREE_FROM = 4398046511104, 2048, 9007199254736896, 9007199254738944
local top = '+inf'
if not TIMED then
  local first = tonumber(redis.call('ZRANGE', LANES, 0, 0, 'WITHSCORES')[2] or 0)
  if first >= PARKED_FROM and first < FREE_FROM and string.sub(redis.call('HGET', STATS, 'fair') or '', 1, 1) == '1' then
    top = string.format('%.0f', LANE)
  end
end

local function ready(from, count)
  if TIMED then
    return redis.call('ZRANGEBYSCORE', STORE, '-inf', '(' .. string.format('%.0f', now + 1), 'LIMIT', from, count)
  end
  return redis.call('ZREVRANGEBYSCORE', STORE, top, '-inf', 'LIMIT', from, count)
end

-- Ids alone: to read a score costs more than all else.
local function free_ones(in_flight)
  if in_flight == 0 then
    return ready(0, most)
  end
  local free, from, step = {}, 0, math.max(16, most)
  repeat
    local ids = ready(from, step)
    local blocked = #ids > 0 and redis.call('ZMSCORE', PREPARE, unpack(ids))
    for i = 1, #ids do
      if not blocked[i] and #free < most then
        free[#free + 1] = ids[i]
      end
    end
    from = from + step
  until #free == most or #ids < step or from > PASSED_OVER_MOST
  return free
end

local in_flight = redis.call('ZCARD', PREPARE)
local free, lone, cut = free_ones(in_flight), 0, false
if #free > 0 and redis.call('EXISTS', SUSPECT) == 1 then
  for i, suspected in ipairs(redis.call('HMGET', SUSPECT, unpack(free))) do
    if suspected and not cut then
      cut, lone = true, i == 1 and 1 or 0
      for j = #free, math.max(i, 2), -1 do
        free[j] = nil
      end
    end
  end
end
local reply = #free > 0 and redis.call('ZMSCORE', STORE, unpack(free)) or {}
-- What comes next of tenants who take turns comes as the hint of the slot says.
if not TIMED and reply[1] and tonumber(reply[1]) > LANE then
  local turn, step = tonumber(redis.call('ZSCORE', TURNS, 'at') or 0), 100 / math.max(1, redis.call('ZCARD', LANES))
  if HEADS ~= STORE then
    turn = math.floor((redis.call('ZRANGE', LANES, 0, 0, 'WITHSCORES')[2] or 0) / LANES_MOST)
  end
  for i, score in ipairs(reply) do
    reply[i] = tonumber(score) > LANE and string.format('%.0f', LANE * 2 - turn - (i - 1) * step) or score
  end
end
-- What whoever takes puts back before.
if not cut then
  local due = string.format('%.0f', now * 1000 + 999)
  for _ = 1, math.min(most, redis.call('ZCOUNT', RETRY, '-inf', due)) do
    reply[#reply + 1] = '1'
  end
end
local oldest = in_flight > 0 and redis.call('ZRANGE', PREPARE, 0, 0, 'WITHSCORES')[2]
if oldest and math.floor(tonumber(oldest) / 1000) <= now - timeout_ms then
  lone = 1
end
if ARGV[4] ~= '' then
  lone = lone + 2 * permitted(read_permits(STATS), tonumber(ARGV[4]), now, in_flight)
end
table.insert(reply, 1, lone)
return reply
