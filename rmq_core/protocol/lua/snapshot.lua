-- Counts, heads and counters of one slot at one instant; reads only.
-- KEYS   the slot's keys
-- ARGV   kind
-- reply  {now, store, ready, retry, prepare, dead, bodies, failure records, oldest due, next due, next retry,
--        oldest taken, (all ms; -1: none), fence ('' for none), {counter, n, …}, {lateness bucket, n, …},
--        trash, when the oldest of it was removed (ms; -1: none), held, keys of which versions wait for one before them,
--        since when the first of these has not moved (ms; -1: none)}, and of a consumer group
--        where it stands (see shared/positions.lua), {counter of the entries, n, …}, entries, id of the first
-- include shared/slot.lua

local function head(command, ...)
  local found = redis.call(command, STORE, ...)
  return found[2] and math.floor(tonumber(found[2])) or -1
end

-- How many a queue holds, and its least score in units of `unit`. Most queues are empty, and every command counts here.
local function least(queue, unit)
  local held = redis.call('ZCARD', queue)
  if held == 0 then
    return 0, -1
  end
  return held, math.floor(tonumber(redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')[2]) / unit)
end

local retrying, next_retry = least(RETRY, SHIFT)
local held = retrying > 0 and redis.call('ZCOUNT', RETRY, ms_text(HELD_FROM), '+inf') or 0
if held == retrying then
  next_retry = -1
end
local in_order, waits_since = 0, -1
if held > 0 then
  in_order, waits_since = least(ORDER_SINCE, 1)
end
local prepared, oldest_taken = least(PREPARE, SHIFT)
local removed, oldest_removed = least(TRASH, 1)
local stored = redis.call('ZCARD', STORE)
local ready, oldest_due, next_due = stored, -1, -1
if ARGV[1] ~= 'priority' and not GROUP and stored > 0 then
  local later = ms_text(now + 1)
  ready = redis.call('ZCOUNT', STORE, '-inf', '(' .. later)
  oldest_due = head('ZRANGEBYSCORE', '(' .. RETRIED_MAX, '(' .. later, 'WITHSCORES', 'LIMIT', 0, 1)
  next_due = head('ZRANGEBYSCORE', later, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
end
local reply = {
  now, stored, ready,
  retrying, prepared, redis.call('ZCARD', DEAD),
  redis.call('HLEN', BODY), redis.call('HLEN', FAILED),
  oldest_due, next_due, next_retry, oldest_taken,
  redis.call('GET', FENCE) or '', redis.call('HGETALL', STATS), redis.call('HGETALL', LATENESS),
  removed, oldest_removed, held, in_order, waits_since,
}
if GROUP then
  -- What it would hand out next: came back, or lies ahead. Its id says when it was accepted.
  local at, back = own_position(), redis.call('ZRANGE', STORE, 0, 0)[1]
  local ahead = at and at.cursor and redis.call('XRANGE', ENTRIES, '(' .. at.cursor, '+', 'COUNT', 1)[1]
  local head = back or ahead and ahead[1]
  if head then
    reply[9] = math.min(now, tonumber(string.match(head, '^%d+')))
  end
  local first = redis.call('XRANGE', ENTRIES, '-', '+', 'COUNT', 1)[1]
  reply[21] = redis.call('HGET', POSITIONS, GROUP) or ''
  reply[22] = redis.call('HGETALL', ENTRY_STATS)
  reply[23] = redis.call('XLEN', ENTRIES)
  reply[24] = first and first[1] or ''
end
return reply
