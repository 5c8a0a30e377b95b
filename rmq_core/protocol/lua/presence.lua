-- Where messages of one slot are, all at one instant; reads only.
-- KEYS   store, retry, prepare, dead, body, failed
-- ARGV   ids
-- reply  per id: {score in store, in retry, in prepare, in dead (false: not there), 1 where it has a body, a failure record}
local found = {}
for i, id in ipairs(ARGV) do
  local row = {}
  for queue = 1, 4 do
    row[queue] = redis.call('ZSCORE', KEYS[queue], id)
  end
  row[5], row[6] = redis.call('HEXISTS', KEYS[5], id), redis.call('HEXISTS', KEYS[6], id)
  found[i] = row
end
return found
