-- Everything a slot knows of some ids, at one instant; reads only.
-- KEYS   the slot's keys
-- ARGV   ids
-- reply  per id {store, retry, prepare, dead score, body, failure record, priority, cluster}, each '' when absent
-- include shared/slot.lua

local CAUSE = KEYS[12]
local rows = {}
for i, id in ipairs(ARGV) do
  local row = {}
  for j, queue in ipairs({STORE, RETRY, PREPARE, DEAD}) do
    row[j] = redis.call('ZSCORE', queue, id) or ''
  end
  for j, pool in ipairs({BODY, FAILED, PRIORITY, CAUSE}) do
    row[j + 4] = redis.call('HGET', pool, id) or ''
  end
  rows[i] = row
end
return rows
