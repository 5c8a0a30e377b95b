-- When a slot next needs a consumer, and what it would hand out; corrects the topic's hint.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom
--        wake channel, slot
-- reply  {now, next_due_ms, head, event_ms, stepped}   next_due_ms: the due time of the oldest ready message or of the next event; -1: none
--        head: of what is ready, the highest priority or the earliest due time ('' none)
--        event_ms: the next event alone, as the hint has it; -1: none
--        stepped: 1 where something is ahead of the clock, which has stepped back, and is to be looked at now (reap.lua)
--        error RMQSHAPE <shape> where a group is not there
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/due.lua
-- include shared/stepping.lua
-- include shared/lanes.lua
-- include shared/hints.lua

local unfit = GROUP and misfit(SHAPE)
if unfit then
  return unfit
end
local stepped_ms = limits.stepped.due_ms()
local next_due_ms = earlier(next_due(), stepped_ms)
local first, ready = head_of(earlier(next_due_or_ready(), TIMED and stepped_ms or nil)), nil
if GROUP then
  ready = group_head()
elseif TIMED then
  local head = redis.call('ZRANGEBYSCORE', STORE, '-inf', '(' .. ms_text(now + 1), 'WITHSCORES', 'LIMIT', 0, 1)
  ready = head[2] and math.floor(tonumber(head[2]))
elseif first then
  ready = now
end
local head = write_hints(ARGV[POLICY + 2], next_due_ms, first)
return {now, earlier(ready, next_due_ms) or -1, ready and head or '', next_due_ms or -1, stepped_ms and stepped_ms <= now and 1 or 0}
