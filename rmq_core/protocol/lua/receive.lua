-- Brings to one slot of a target what is on its way there, each once: the slot remembers what came last from where.
-- KEYS   of the target those that shared/receiving.lua tells; what it remembers
-- ARGV   from where ('': nothing is remembered), by whom, then the target as shared/receiving.lua tells: a row's mark is its id where it comes from
-- reply  {'' or why the slot takes nothing now, how many were new here, what the script that took them replied}
-- include shared/receiving.lua
-- include shared/positions.lua

local FROM, BY = ARGV[1], ARGV[2]
local target, _, key = read_target(3, 1)
local RECEIVED = KEYS[key]
local last, rows = FROM ~= '' and redis.call('HGET', RECEIVED, FROM) or '0-0', target.rows
if FROM ~= '' then
  rows = {}
  for _, row in ipairs(target.rows) do
    if before(last, row.mark) then
      rows[#rows + 1] = row
      last = row.mark
    end
  end
end
if #rows == 0 then
  return {'', 0, 0}
end
local why = cannot_take(target, #rows)
if why then
  return {why, 0, 0}
end
local reply = bring(target, rows, BY)
if type(reply) == 'table' and reply.err then
  return {reply.err, 0, 0}
end
if FROM ~= '' then
  redis.call('HSET', RECEIVED, FROM, last)
end
return {'', #rows, reply}
