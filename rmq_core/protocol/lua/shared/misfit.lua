-- Needs marks; not in every script that has those: to make a function costs half as much as a command.
-- Refuses a caller whose definition is of another life of the topic: '<kind> <slots> <created_ms>'. Slots of topics
-- that were defined before there was such a mark bear none; those of groups always do.
local function misfit(shape)
  if marks[2] and marks[2] ~= shape and marks[2] ~= 'f2 ' .. shape then -- with holds: shared/hold_marks.lua
    return redis.error_reply('RMQSHAPE ' .. marks[2])
  elseif ENTRIES and not (marks[2] and redis.call('HEXISTS', POSITIONS, GROUP) == 1) then
    return redis.error_reply('RMQSHAPE none')
  end
  return nil
end
