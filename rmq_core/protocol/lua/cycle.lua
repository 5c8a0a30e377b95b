-- One turn of a consumer: settle what is finished, put back what timed out, take what is ready.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch ('' in shared mode), shape,
--        '<host> <worker>' or ''
--        wake channel, slot, limit (0 takes nothing; '<limit>/<version>': no more than it has permits for), how (several|alone), least fresh priority to take ('': any; 'waits':
--        any, but nothing while something that was handed out before is in flight, or waits for its next try; 'retried':
--        on priority topics only what failed before),
--        most bytes of bodies to take, n acks, n nacks, n releases, then the groups of shared/settle.lua
-- reply  {now, next_due_ms (-1: none), statuses of the settled (1 done, 0 stale), {id, store score, …}, bodies or {},
--        microseconds of `now` beyond the millisecond, head of what is left ('' none), 1 where the next message must be
--        taken alone, 2 more where something is ready that there was no permit for, and 4 for each millisecond that the
--        receipts are ahead of `now`}
--        error RMQFENCED <epoch>, RMQSHAPE <shape>: nothing was done
-- include shared/slot.lua
-- inner function
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/bodies.lua
-- include shared/records.lua
-- include shared/origins.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/trash.lua
-- include shared/clusters.lua
-- include shared/returning.lua
-- include shared/failing.lua
-- include shared/settle.lua
-- include shared/due.lua
-- include shared/lapsing.lua
-- include shared/load.lua
-- include shared/reaping.lua
-- include shared/holds.lua
-- include shared/order.lua
-- include shared/order_take.lua
-- include shared/lanes.lua
-- include shared/take.lua
-- include shared/hints.lua

local refused = fenced()
if refused then
  return refused
end
-- A function of its own, for a script may have 200 locals at most.
local function turn()
  local REAPED_MOST = 100
-- include shared/permits.lua
  local channel, slot, limit = ARGV[POLICY + 1], ARGV[POLICY + 2], tonumber(ARGV[POLICY + 3])
  local short, version = 0, nil
  if not limit then
    limit, version = string.match(ARGV[POLICY + 3], '^(%d+)/(%d+)$')
    limit, version = tonumber(limit), tonumber(version)
  end
  local alone, floor = ARGV[POLICY + 4] == 'alone', tonumber(ARGV[POLICY + 5])
  if ARGV[POLICY + 5] == 'retried' then
    floor = math.huge
  end
  local bytes = tonumber(ARGV[POLICY + 6])
  local statuses = {}
  local at = ack(POLICY + 10, tonumber(ARGV[POLICY + 7]), statuses)
  at = nack(at, tonumber(ARGV[POLICY + 8]), statuses)
  local releases = tonumber(ARGV[POLICY + 9])
  release(at, releases, statuses)
  local busy = roll_back(REAPED_MOST) == REAPED_MOST
  local promoted, more_wait = promote(REAPED_MOST)
  busy = promoted == REAPED_MOST or more_wait or busy
  if HOLDS then
    busy = lift_over(REAPED_MOST) == REAPED_MOST or busy
  end
  if ARGV[POLICY + 5] == 'waits' and redis.call('EXISTS', PREPARE, RETRY) > 0 and not (HOLDS and keeps_all_back()) then
    limit = 0
  end
  if ORDER and HOLDS then
    busy = ORDER.skip_missing(REAPED_MOST) == REAPED_MOST or busy
  end
  if limits.look_after_keys and HOLDS then
    limits.look_after_keys(REAPED_MOST)
  end
  if version then
    local room = permitted(read_permits(STATS), version, now, redis.call('ZCARD', PREPARE))
    short = room < limit and 2 or 0
    limit = math.min(limit, room)
  end
  if FAIR then
    lanes.give(limit, nil, true)
  elseif UNFAIR then
    lanes.take_back(limit * 2)
  end
  local taken, bodies, suspects_next, cut = take(limit, alone, floor, bytes)
  if short > 0 and limit == 0 then
    local some_ready = not TIMED and redis.call('EXISTS', STORE) == 1 or TIMED and #limits.ready(1, 0) > 0
    short = some_ready and short or 0
  elseif #taken < limit * 2 then
    short = 0
  end
  write_load()
  write_counts()
  local next_due_ms = now
  if not busy and not cut and (limit == 0 or #taken < limit * 2) then
    next_due_ms = next_due() or -1
  end
  -- What stands behind one that must be taken alone is ready, though it was not taken.
  local head = head_of(limit > 0 and next_due_ms ~= -1 and not suspects_next and next_due_ms or next_due_or_ready())
  local due_ms = next_due_ms ~= -1 and next_due_ms or nil
  if due_ms == now and not TIMED and not busy and HEADS ~= STORE then
    due_ms = next_due() -- what is left is in the head
  end
  head = write_hints(slot, due_ms, head)
  if releases > 0 and limit == 0 then
    -- What was given back is for others to take.
    redis.call('PUBLISH', channel, head == '' and slot or slot .. ' ' .. head)
  end
  local flags = (suspects_next and 1 or 0) + short + 4 * handed_out.ahead()
  return {now, next_due_ms, statuses, taken, bodies, micros % 1000, head, flags}
end

return turn()
