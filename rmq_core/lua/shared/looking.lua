-- When a slot needs somebody again. Needs shared/policy.lua.
local function head_ms(queue, extra_ms)
  local head = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  return head[2] and math.floor(tonumber(head[2]) / SHIFT) + extra_ms
end

local function earlier(a, b)
  if not a or not b then
    return a or b
  end
  return math.min(a, b)
end

-- When the slot next needs a look though nobody sends to it: a due message, a due retry, a timeout. nil: never.
local function next_look()
  local look = earlier(head_ms(RETRY, 0), head_ms(PREPARE, TIMEOUT_MS))
  if TIMED then
    local head = redis.call('ZRANGEBYSCORE', STORE, '(' .. string.format('%.0f', now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    look = earlier(look, head[2] and tonumber(head[2]))
  end
  return look
end
