-- Brings dead letters back with every retry: at their original priority, or due now.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at)
--        wake channel, slot, then ids
-- reply  per id: 1 done, 0 not found
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/clusters.lua

local statuses, gone, FIRST = {}, {}, POLICY + 3
for i = FIRST, #ARGV do
  local found = redis.call('ZREM', DEAD, ARGV[i])
  if found == 1 then
    restore(ARGV[i], fresh_score(ARGV[i]), 'requeued', 'd')
    gone[#gone + 1] = ARGV[i]
  end
  statuses[#statuses + 1] = found
end
count('requeued', #gone)
leave_clusters(gone)
write_counts()
redis.call('PUBLISH', ARGV[POLICY + 1], ARGV[POLICY + 2])
return statuses
