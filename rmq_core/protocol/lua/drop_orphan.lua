-- Removes what the pools know of messages that no queue holds: nobody would ever remove that again.
-- KEYS   the slot's keys
-- ARGV   shape, then ids
-- reply  per id: 1 done, 2 a queue holds it (nothing was changed), 0 the pools know nothing of it; error RMQSHAPE <shape>:
--        nothing was done
-- include shared/slot.lua
-- include shared/marks.lua
-- include shared/misfit.lua

local unfit = misfit(ARGV[1])
if unfit then
  return unfit
end
local statuses = {}
for i = 2, #ARGV do
  local id = ARGV[i]
  local held = false
  for _, queue in ipairs({STORE, RETRY, PREPARE, DEAD}) do
    held = held or redis.call('ZSCORE', queue, id)
  end
  local known = 0
  if not held then
    for _, pool in ipairs({BODY, FAILED, PRIORITY, REPLACED, DEAD_RECORD, SUSPECT}) do
      known = known + redis.call('HDEL', pool, id)
    end
  end
  statuses[i - 1] = held and 2 or (known > 0 and 1 or 0)
end
return statuses
