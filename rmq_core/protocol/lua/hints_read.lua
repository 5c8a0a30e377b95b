-- The slots that a topic's hints name first; reads only.
-- KEYS   heads, due
-- ARGV   timed (1|0), most heads, most times, any number (which of equal slots come where not all can), how many of those
--        that hold retried messages only come at least, on priority topics
-- reply  {now, {slot, head, …} best first, {slot, next_due_ms, …} earliest first; nothing on timed topics}
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local timed, last, last_due = ARGV[1] == '1', tonumber(ARGV[2]), tonumber(ARGV[3])
local turn, retried = tonumber(ARGV[4]), tonumber(ARGV[5])
local RETRIED_MAX = 16

local heads = redis.call(timed and 'ZRANGE' or 'ZREVRANGE', KEYS[1], 0, last, 'WITHSCORES')

local function add(from, to, first, most)
  if most > 0 then
    for _, each in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], from, to, 'WITHSCORES', 'LIMIT', first, most)) do
      heads[#heads + 1] = each
    end
  end
end

-- Adds `most` of the slots with these heads, where there are `all`: whichever, so that none is left out each time.
local function add_any(from, to, most, all)
  local first = all > most and turn % all or 0
  add(from, to, first, most)
  add(from, to, 0, math.min(first, most - (all - first)))
end

if #heads > last * 2 then
  local found_retried = 0
  -- They are equals, whatever their scores.
  while not timed and heads[1] and tonumber(heads[#heads]) <= RETRIED_MAX do
    heads[#heads], heads[#heads - 1] = nil, nil
    found_retried = found_retried + 1
  end
  if found_retried == 0 then
    local edge = heads[#heads]
    local all, equal = redis.call('ZCOUNT', KEYS[1], edge, edge), 0
    while heads[#heads - equal * 2] == edge do
      equal = equal + 1
    end
    if all > equal then
      for i = #heads, #heads - equal * 2 + 1, -1 do
        heads[i] = nil
      end
      add_any(edge, edge, equal, all)
    end
  end
  if not timed then
    local all = redis.call('ZCOUNT', KEYS[1], '-inf', RETRIED_MAX)
    add_any('-inf', RETRIED_MAX, math.max(retried, found_retried), all)
  end
end
return {now, heads, timed and {} or redis.call('ZRANGE', KEYS[2], 0, last_due, 'WITHSCORES')}
