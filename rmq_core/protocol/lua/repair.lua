-- Makes the copies of messages what they must be: what is missing is put back, what is too many goes to the trash, what
-- was altered is set right. The journal records the message again: whatever it said of it before is settled.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom
--        wake channel, slot, 1 where the counters were lost too (0: they still count what is put back; 2: they do, but
--        the journal has told of these what never was, so nobody compares it with them any more)
--        then per id: id, the scores it was seen with ('<store> <retry> <prepare> <dead>'; '-': not there), how many
--        copies it must have, and each of them, packed as in shared/records.lua (also 'p', in flight; '?' as the length
--        of the body: as it is, as the length of the failure record: as it is)
-- reply  per id: 1 done, 2 it is not any more where it was seen: nothing was done; error RMQSHAPE <shape>
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/bodies.lua
-- include shared/records.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/clusters.lua
-- include shared/origins.lua
-- include shared/trash.lua
-- include shared/returning.lua
-- include shared/due.lua
-- include shared/lanes.lua
-- include shared/hints.lua
-- include shared/setting_right.lua

local unfit = misfit(SHAPE)
if unfit then
  return unfit
end
local FIRST = POLICY + 4
local function is_unchanged(live, seen)
  local at = 0
  for word in string.gmatch(seen, '%S+') do
    at = at + 1
    if tonumber(live[QUEUES[at]]) ~= tonumber(word) then
      return false
    end
  end
  return at == #QUEUES
end

local untrue, statuses, at = ARGV[POLICY + 3] == '2', {}, FIRST
while at <= #ARGV do
  local id, seen, n = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local status = 2
  if is_unchanged(scores_of(id), seen) then
    local copies = {}
    for i = 1, n do
      copies[i] = unpack_record(ARGV[at + 2 + i])
    end
    if untrue then
      redis.call('HDEL', STATS, 'told')
      untrue = false
    end
    set_right(id, copies, ARGV[POLICY + 3] == '1')
    count('repaired', 1)
    status = 1
  end
  statuses[#statuses + 1] = status
  at = at + 3 + n
end
write_counts()
announce_change()
return statuses
