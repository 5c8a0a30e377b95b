-- Puts back what a member of a group has in flight, uncounted; it will be handed out alone, as after a death.
-- KEYS   the slot's keys of the group
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom
--        wake channel, slot, how (do|plan: changes nothing), the member ('': who gave no name), of what was taken before
--        (ms), from which of those in flight on (0: the one taken first), most to look at
-- reply  {put back, the member's that were taken later, looked at}; error RMQSHAPE <shape>: nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/bodies.lua
-- include shared/origins.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/returning.lua
-- include shared/due.lua
-- include shared/lanes.lua
-- include shared/hints.lua

local unfit = misfit(SHAPE)
if unfit then
  return unfit
end
local how, holder, before_ms = ARGV[POLICY + 3], ARGV[POLICY + 4], tonumber(ARGV[POLICY + 5])
local first, most = tonumber(ARGV[POLICY + 6]), tonumber(ARGV[POLICY + 7])
local found = redis.call('ZRANGE', PREPARE, first, first + most - 1, 'WITHSCORES')
local theirs, kept = {}, 0
for i = 1, #found, 2 do
  local receipt = tonumber(found[i + 1])
  if holder_of(found[i], receipt) == holder then
    if receipt < before_ms * SHIFT then
      theirs[#theirs + 1] = i
    else
      kept = kept + 1
    end
  end
end
if how == 'do' and #theirs > 0 then
  for _, i in ipairs(theirs) do
    local id, receipt = found[i], tonumber(found[i + 1])
    local failures = receipt % SHIFT
    redis.call('ZREM', PREPARE, id)
    if back_to_store(id, failures > 0 and retries_left(failures) or entry_place(id), 'released', 'p', found[i + 1]) then
      redis.call('HSET', SUSPECT, id, '')
    end
  end
  forget_origins()
  count('released', #theirs)
  write_counts()
  announce_change()
end
return {#theirs, kept, #found / 2}
