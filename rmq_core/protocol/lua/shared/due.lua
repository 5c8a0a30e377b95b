-- When a slot needs somebody again. Needs shared/policy.lua.
-- include shared/hold_marks.lua
-- include shared/key_marks.lua
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

-- When the slot next needs a consumer though nobody sends to it: a due message, a due retry, a timeout, the end
-- of a hold, a tenant who may have more. nil: never.
-- A timeout is at most that far away, whatever the clock was when it was taken.
local function next_due()
  local timeout, retry = head_ms(PREPARE, TIMEOUT_MS), head_ms(RETRY, 0)
  if retry and retry * SHIFT >= HELD_FROM then
    retry = nil
  end
  local next_due_ms = earlier(retry, timeout and math.min(timeout, now + TIMEOUT_MS))
  if hold_end then
    next_due_ms = earlier(next_due_ms, hold_end())
  end
  if limits.ends_ms then
    next_due_ms = earlier(next_due_ms, limits.ends_ms())
  end
  if TIMED and not GROUP then
    local head = redis.call('ZRANGEBYSCORE', STORE, ms_text(now + 1), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    next_due_ms = earlier(next_due_ms, head[2] and math.floor(tonumber(head[2])))
  end
  return next_due_ms
end

-- Of a group, what it would hand out next: the time of the entry; what failed comes first. nil: nothing.
local group_head
if GROUP then
  function group_head()
    local head = redis.call('ZRANGE', STORE, 0, 0, 'WITHSCORES')
    if head[2] then
      local score = math.floor(tonumber(head[2]))
      -- Not `now`: whoever compares may have looked at the clock of another node, a moment before.
      return math.min(now, score > RETRIED_MAX and score - ENTRY_PLACE or score)
    end
    local at = own_position()
    local entry = at and redis.call('XRANGE', ENTRIES, '(' .. at.cursor, '+', 'COUNT', 1)[1]
    return entry and math.min(now, tonumber(string.match(entry[1], '^%d+')))
  end
end

-- The same, with what is ready already: `now` or before.
local function next_due_or_ready()
  if GROUP then
    return earlier(next_due(), group_head())
  elseif TIMED then
    local head = redis.call('ZRANGE', STORE, 0, 0, 'WITHSCORES')
    return earlier(next_due(), head[2] and math.floor(tonumber(head[2])))
  end
  return next_due()
end
