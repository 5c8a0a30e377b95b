-- Forwards what was taken from a slot to slots of other topics, and settles it: all of that, or nothing.
-- KEYS   the slot's keys; of each target those that shared/receiving.lua tells
-- ARGV   as shared/leaving.lua tells; by whom, for the journals of the targets; how many targets, and each as
--        shared/receiving.lua tells: a row's mark is the position of its message
-- reply  {0, status per message (1 forwarded, 0 stale)}, or {which target takes nothing now, why}: nothing was done
--        error RMQFENCED <epoch>, RMQSHAPE <shape>: of the source, nothing was done
-- include shared/leaving.lua
-- include shared/receiving.lua

local refused = look()
if refused then
  return refused
end
local function keeps(mark)
  return held[tonumber(mark)]
end

local by, at, key, targets, coming = ARGV[BEHIND], BEHIND + 2, OWN_KEYS + 1, {}, {}
for i = 1, tonumber(ARGV[BEHIND + 1]) do
  local target
  target, at, key = read_target(at, key, keeps)
  local slot = target.keys[1]
  coming[slot] = (coming[slot] or 0) + target.n
  local why = target.n > 0 and cannot_take(target, coming[slot])
  if why then
    return {i, why}
  end
  targets[i] = target
end
-- Adds before it removes anything: a full server refuses a script only at a first write that adds.
for i, target in ipairs(targets) do
  local reply = target.n > 0 and bring(target, by)
  if type(reply) == 'table' and reply.err then
    if i == 1 then
      return {i, reply.err}
    end
    return reply
  end
end
return {0, leave()}
