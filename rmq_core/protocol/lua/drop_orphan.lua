-- Removes what the pools know of messages that no queue holds: nobody would ever remove that again.
-- KEYS   the slot's keys
-- ARGV   ids
-- reply  per id: 1 done, 2 a queue holds it (nothing was changed), 0 the pools know nothing of it
-- include shared/slot.lua

local statuses = {}
for i, id in ipairs(ARGV) do
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
  statuses[i] = held and 2 or (known > 0 and 1 or 0)
end
return statuses
