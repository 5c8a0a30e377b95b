-- When a slot next needs a consumer; reads only.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at)
-- reply  {now, look}   look: the due time of the oldest ready message or of the next event; -1: none
-- include shared/slot.lua
-- include shared/policy.lua
-- include shared/looking.lua

local ready
if TIMED then
  local head = redis.call('ZRANGEBYSCORE', STORE, '-inf', now, 'WITHSCORES', 'LIMIT', 0, 1)
  ready = head[2] and tonumber(head[2])
elseif redis.call('EXISTS', STORE) == 1 then
  ready = now
end
return {now, earlier(ready, next_look()) or -1}
