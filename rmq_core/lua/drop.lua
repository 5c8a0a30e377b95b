-- Removes dead letters for good.
-- KEYS   the slot's ten keys
-- ARGV   ids
-- reply  per id: 1 done, 0 not found
-- include shared/slot.lua

local statuses, gone = {}, {}
for i, id in ipairs(ARGV) do
  statuses[i] = redis.call('ZREM', DEAD, id)
  if statuses[i] == 1 then
    gone[#gone + 1] = id
  end
end
count('dropped', #gone)
forget(gone, {STORE, RETRY, PREPARE})
write_counts()
return statuses
