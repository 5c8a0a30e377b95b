-- Messages that may not be delivered any more: their body tells until when ('\3e<ms> ', see `rmq_core/model/bodies.py`).
-- Looked at where a message is about to be handed out or to wait again, and where another one is about to merge into it.
-- Needs bodies.

-- `at`: at that time, where it is not now.
local function has_lapsed(body, at)
  if not body or string.byte(body) ~= 3 then
    return false
  end
  local last_ms = string.match(body, '^\3e(%d+)')
  return last_ms and tonumber(last_ms) <= (at or now)
end

-- Ends messages that wait, all in one queue ('s' or 'r'), as that event tells it.
local function lapse(ids, queue, event)
  redis.call('ZREM', queue == 's' and STORE or RETRY, unpack(ids))
  for _, id in ipairs(ids) do
    note(event, queue .. '-', id, 0)
  end
  count(event, #ids)
  if SUSPECT then
    redis.call('HDEL', SUSPECT, unpack(ids))
  end
  waiting_left(ids)
  forget(ids, {PREPARE, DEAD})
end
