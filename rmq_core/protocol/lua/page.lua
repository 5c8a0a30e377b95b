-- One page of one queue of a slot, beginning strictly after a position; reads only.
-- KEYS   the queue
-- ARGV   direction (up|down), lowest and highest score (as for ZCOUNT: "(" excludes), limit,
--        score and id of the position ('' for the beginning)
-- reply  {id, score, …}
local up, low, high, limit = ARGV[1] == 'up', ARGV[2], ARGV[3], tonumber(ARGV[4])
local after_score, after_id = ARGV[5], ARGV[6]

local function below(bound)
  return redis.call('ZCOUNT', KEYS[1], '-inf', bound)
end

-- Ids of equal score are in byte order; Lua's own `<` would follow the server's locale.
local function byte_order(a, b)
  for i = 1, math.min(#a, #b) do
    local difference = string.byte(a, i) - string.byte(b, i)
    if difference ~= 0 then
      return difference
    end
  end
  return #a - #b
end

local first = below(high) - redis.call('ZCOUNT', KEYS[1], low, high)
local last = below(high) - 1
if after_score ~= '' then
  -- A binary search finds the place even when that id is gone meanwhile.
  local from, to = below('(' .. after_score), below(after_score)
  while from < to do
    local middle = math.floor((from + to) / 2)
    local order = byte_order(redis.call('ZRANGE', KEYS[1], middle, middle)[1], after_id)
    if order < 0 or (up and order == 0) then
      from = middle + 1
    else
      to = middle
    end
  end
  if up then
    first = math.max(first, from)
  else
    last = math.min(last, from - 1)
  end
end
if first > last then
  return {}
end
if up then
  return redis.call('ZRANGE', KEYS[1], first, math.min(last, first + limit - 1), 'WITHSCORES')
end
local rows = redis.call('ZRANGE', KEYS[1], math.max(first, last - limit + 1), last, 'WITHSCORES')
local turned = {}
for i = #rows - 1, 1, -2 do
  turned[#turned + 1] = rows[i]
  turned[#turned + 1] = rows[i + 1]
end
return turned
