-- Back into the store. An equal id that waits there or in retry is a newer send, and this one merges into it.
-- Needs policy, bodies, timed_places, priority_places.

-- The score of a message that waits once more as if it had not failed: due now, or behind those of its priority; of an
-- entry, in its order.
local function fresh_place(priority, id)
  if GROUP then
    return entry_place(id)
  elseif TIMED then
    return timed_place(now)
  end
  return priority_place(priority and priority_of(priority) or RETRIED_MAX + 1, number_places(1) + 1)
end

-- Something will wait; call before it is put there. The field `waits` holds the latest moment at which that
-- was said, and the longest of `asked_ms` since nothing waited: what shared/reaping.lua shortens where the clock steps back.
function limits.note_wait(asked_ms)
  local known = limits.waits
  if not known then
    local from, longest = string.match(redis.call('HGET', STATS, 'waits') or '', '^(%d+) (%d+)$')
    local some = from and redis.call('EXISTS', RETRY) == 1
    known = {some and tonumber(from) or 0, some and tonumber(longest) or 0}
    limits.waits = known
  end
  if now > known[1] or asked_ms > known[2] then
    known[1], known[2] = math.max(now, known[1]), math.max(asked_ms, known[2])
    redis.call('HSET', STATS, 'waits', ms_text(known[1]) .. ' ' .. ms_text(known[2]))
  end
end

-- Where in the store something belongs that a hold kept back with that score.
local function place_of_held(id, score, place)
  local failures = score % SHIFT
  return failures > 0 and retries_left(failures) or place or fresh_place(nil, id)
end

-- Where a delivery merges into the copy that waits, the pools are that copy's alone.
local function merge_into_waiting(id, from)
  count('merged', 1)
  note('merged', from .. '-', id, 0)
  if from == 'p' then
    redis.call('HDEL', REPLACED, id)
  end
end

-- `event`, `from`: what the journal calls that. `receipt`: of a delivery, whose release it tells even where it merges.
-- Says whether it is back.
local function back_to_store(id, score, event, from, receipt)
  if waiting(id) then
    if receipt then
      note(event, 'pp', id, receipt)
    end
    merge_into_waiting(id, from)
    return false
  end
  score = TIMED and score or plain_of(score)
  redis.call('ZADD', STORE, TIMED and score or string.format('%.17g', score), id)
  note(event, from .. 's', id, score)
  if event == 'released' and limits.gives_turn_back then
    limits.gives_turn_back(id)
  end
  return true
end
