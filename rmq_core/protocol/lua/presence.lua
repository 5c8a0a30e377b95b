-- Where messages of one slot are, all at one instant; reads only.
-- KEYS   store, retry, prepare, dead, body, failed, then hashes with the content of one copy
-- ARGV   ids
-- reply  per id: {score in store, in retry, in prepare, in dead (false: not there), 1 where it has a body, a failure record,
--        anything in the hashes behind them}
local found = {}
for i, id in ipairs(ARGV) do
  local row = {}
  for queue = 1, 4 do
    row[queue] = redis.call('ZSCORE', KEYS[queue], id)
  end
  row[5], row[6], row[7] = redis.call('HEXISTS', KEYS[5], id), redis.call('HEXISTS', KEYS[6], id), 0
  for pool = 7, #KEYS do
    row[7] = math.max(row[7], redis.call('HEXISTS', KEYS[pool], id))
  end
  found[i] = row
end
return found
