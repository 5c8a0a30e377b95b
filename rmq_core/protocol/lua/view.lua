-- Everything a slot knows of some ids, at one instant; reads only.
-- KEYS   the slot's keys
-- ARGV   ids
-- reply  per id {store, retry, prepare, dead score, body, failure record, priority, cluster, body of the delivery in flight
--        where another copy waits (': ' and the body), record of the dead letter}, each '' when absent
-- include shared/slot.lua
-- include shared/origins.lua

local rows = {}
for i, id in ipairs(ARGV) do
  local row = {}
  for j, queue in ipairs({STORE, RETRY, PREPARE, DEAD}) do
    row[j] = redis.call('ZSCORE', queue, id) or ''
  end
  for j, pool in ipairs({BODY, FAILED, PRIORITY, CAUSE}) do
    row[j + 4] = redis.call('HGET', pool, id) or ''
  end
  row[5] = GROUP and row[5] == '' and entry_body(id) or row[5]
  if row[3] ~= '' and row[7] == '' then
    local origin = origin_of(id, tonumber(row[3]))
    row[7] = origin and string.format('%.17g', origin) or ''
  end
  local replaced = redis.call('HGET', REPLACED, id)
  row[9] = replaced and ': ' .. replaced or ''
  row[10] = redis.call('HGET', DEAD_RECORD, id) or ''
  rows[i] = row
end
return rows
