-- Corrects the counters of a slot, so that its ledger tells what its queues hold.
-- KEYS   the slot's keys
-- ARGV   shape, the ledger's gap as it was seen, and what of it is to be corrected (the rest is repaired by what is put
--        back)
-- reply  1 done, 0 the gap is another one by now: nothing was done; error RMQSHAPE <shape>: nothing was done
-- include shared/slot.lua
-- include shared/marks.lua
-- include shared/misfit.lua

local unfit = misfit(ARGV[1])
if unfit then
  return unfit
end

local found = redis.call(
  'HMGET', STATS, 'sent', 'restored', 'merged', 'acked', 'cancelled', 'dropped', 'lapsed', 'duplicate', 'outdated'
)
local function counter(i)
  return tonumber(found[i] or nil) or 0
end
local gap = counter(1) + counter(2) - counter(3) - counter(4) - counter(5) - counter(6) - counter(7) - counter(8) - counter(9)
for _, queue in ipairs({STORE, RETRY, PREPARE, DEAD}) do
  gap = gap - redis.call('ZCARD', queue)
end
local seen, by = tonumber(ARGV[2]), tonumber(ARGV[3])
if gap ~= seen and gap ~= by then
  return 0
end
if by > 0 then
  count('dropped', by)
else
  count('restored', -by)
end
count('repaired', 1)
write_counts()
return 1
