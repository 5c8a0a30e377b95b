-- Brings to one slot of a target what is on its way there, each once: the slot remembers what came last from where.
-- KEYS   of the target those that shared/receiving.lua tells; what it remembers
-- ARGV   from where ('': nothing is remembered), by whom, then the target as shared/receiving.lua tells: a row's mark is its id where it comes from
-- reply  {'' or why the slot takes nothing now, how many were new here, what the script that took them replied}
-- include shared/receiving.lua
-- include shared/positions.lua

local FROM, BY = ARGV[1], ARGV[2]
-- Its first key names the slot, and what it remembers stands behind all of its own.
local RECEIVED = KEYS[#KEYS]
local last = FROM ~= '' and redis.call('HGET', RECEIVED, FROM) or '0-0'
local target = read_target(3, 1, function(mark)
  if FROM == '' then
    return true
  elseif before(last, mark) then
    last = mark
    return true
  end
  return false
end)
if target.n == 0 then
  return {'', 0, 0}
end
local why = cannot_take(target, target.n)
if why then
  return {why, 0, 0}
end
local reply = bring(target, BY)
if type(reply) == 'table' and reply.err then
  return {reply.err, 0, 0}
end
if FROM ~= '' then
  redis.call('HSET', RECEIVED, FROM, last)
end
return {'', target.n, reply}
