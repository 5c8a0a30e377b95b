-- What a group would hand out next of a slot, for whoever chooses between slots; reads only.
-- KEYS   the slot's keys of the group
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom
--        most, waits or '', until when nothing is taken (see group_cycle.lua)
-- reply  {lone, score, …}   lone: 1 where the first may have to be taken alone
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/bodies.lua
-- include shared/origins.lua
-- include shared/group_take.lua

local most = tonumber(ARGV[POLICY + 1])
local scores = {0}
-- What whoever takes puts back before.
for i = 1, math.min(most, redis.call('ZCOUNT', RETRY, '-inf', ms_text(now * SHIFT + SHIFT - 1))) do
  scores[i + 1] = '1'
end
if redis.call('ZCOUNT', PREPARE, '-inf', ms_text((now - TIMEOUT_MS) * SHIFT + SHIFT - 1)) > 0 then
  scores[1] = 1
end
if now < tonumber(ARGV[POLICY + 3]) or ARGV[POLICY + 2] == 'waits' and must_wait() then
  return scores
end
local returned, suspects_next = before_suspects(free_ones(most), false)
if suspects_next and #returned == 0 then
  scores[1] = 1
end
for i = 2, #returned, 2 do
  scores[#scores + 1] = returned[i]
end
local at = own_position()
if at and not suspects_next and #returned / 2 < most then
  for _, entry in ipairs(redis.call('XRANGE', ENTRIES, '(' .. at.cursor, '+', 'COUNT', most - #returned / 2)) do
    scores[#scores + 1] = string.match(entry[1], '^%d+')
  end
end
return scores
