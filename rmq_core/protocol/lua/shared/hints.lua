-- The topic's hints, for those who pull: `heads` holds slot → what it would hand out next (its highest priority; on timed
-- topics when it next needs a consumer), `due` holds slot → when a priority slot next needs a consumer though nobody sends.
-- They are written beside the change, and are nothing but hints: whoever follows them looks. Needs policy, due.
-- On Cluster they lie on another node: the client writes what the scripts reply.

local function set_hint(key, slot, score)
  -- A full server refuses a script whose first write adds, and this may be the first.
  if not score or type(redis.pcall('ZADD', key, score, slot)) == 'table' then
    redis.call('ZREM', key, slot)
    if score then
      redis.call('ZADD', key, score, slot)
    end
  end
end

-- What could be handed out next, as the hint says it; nil: nothing. `next_due_ms`: when the slot next needs a consumer.
local function head_of(next_due_ms)
  if TIMED then
    return next_due_ms
  end
  local top = redis.call('ZREVRANGE', STORE, 0, 0, 'WITHSCORES')
  local score = top[2] and tonumber(top[2])
  if lanes.head and score and score > 4398046511104 then
    local head = lanes.head()
    if head then
      return head
    end
    score = tonumber(redis.call('ZREVRANGEBYSCORE', STORE, '4398046511104', '-inf', 'WITHSCORES', 'LIMIT', 0, 1)[2] or nil)
  end
  return score and math.ceil(score)
end

-- Returns the head as text, '' for none.
local function write_hints(slot, next_due_ms, head)
  if HEADS ~= STORE then
    set_hint(HEADS, slot, head)
    if not TIMED then
      set_hint(DUE, slot, next_due_ms)
    end
  end
  return head and ms_text(head) or ''
end

-- After any change that may bring something forward: tells the hint and whoever sleeps.
local function announce_change()
  if FAIR then
    lanes.give(0)
  end
  local channel, slot = ARGV[POLICY + 1], ARGV[POLICY + 2]
  local head = write_hints(slot, next_due(), head_of(next_due_or_ready()))
  redis.call('PUBLISH', channel, head == '' and slot or slot .. ' ' .. head)
end
