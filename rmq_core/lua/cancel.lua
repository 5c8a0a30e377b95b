-- Takes messages that wait (in store or retry) out of the queue for good.
-- KEYS   the slot's ten keys
-- ARGV   ids
-- reply  per id: 1 done, 2 in flight, 0 not found
-- include shared/slot.lua

local statuses, gone = {}, {}
for i, id in ipairs(ARGV) do
  if redis.call('ZREM', STORE, id) + redis.call('ZREM', RETRY, id) > 0 then
    statuses[i] = 1
    gone[#gone + 1] = id
  else
    statuses[i] = redis.call('ZSCORE', PREPARE, id) and 2 or 0
  end
end
count('cancelled', #gone)
forget(gone, {PREPARE, DEAD})
write_counts()
return statuses
