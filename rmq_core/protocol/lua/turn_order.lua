-- Whose turn it is in one slot where tenants take turns; reads only. See shared/lanes.lua.
-- KEYS   the slot's keys
-- ARGV   most tenants
-- reply  {mark ('' none), what waits without a turn, {tenant, turn, what waits of it, …} whoever is next first}
-- include shared/keys.lua

local LANE, PLACES, LANES_MOST, FREE_FROM = 4398046511104, 4294967296, 2048, 9007199254738944
local mark = redis.call('HGET', STATS, 'fair') or ''
if not string.match(mark, '^[12]') then
  return {mark, 0, {}}
end
local some = redis.call('ZRANGEBYSCORE', LANES, '-inf', string.format('(%.0f', FREE_FROM), 'WITHSCORES', 'LIMIT', 0, ARGV[1])
local order = {}
for i = 1, #some, 2 do
  local lane, turn = some[i + 1] % LANES_MOST, math.floor(some[i + 1] / LANES_MOST)
  local from = string.format('(%.0f', lane * LANE)
  local waiting = redis.call('ZCOUNT', STORE, from, string.format('%.0f', lane * LANE + 1023 * PLACES))
  if waiting > 0 then
    order[#order + 1] = string.sub(some[i], 2)
    order[#order + 1] = turn
    order[#order + 1] = waiting
  end
end
return {mark, redis.call('ZCOUNT', STORE, '(' .. RETRIED_MAX, string.format('%.0f', LANE)), order}
