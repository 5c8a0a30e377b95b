-- Makes the copies of a message what they must be, and has the journal begin again with them. Needs journal, bodies,
-- records, clusters, origins, trash, returning, hints.
local wait_behind -- what follows says whether others wait for one that failed
-- include shared/holds.lua
local QUEUE_OF = {s = STORE, r = RETRY, p = PREPARE, d = DEAD}
local QUEUES = {'s', 'r', 'p', 'd'}

local function scores_of(id)
  local found = {}
  for _, letter in ipairs(QUEUES) do
    found[letter] = redis.call('ZSCORE', QUEUE_OF[letter], id) or nil
  end
  return found
end
local stand_again, set_right, note_back

do
  -- What the journal tells of a copy that is back: where it is and, as of every failure, how often and of what it failed,
  -- for a journal that begins again knows nothing else of it.
  function note_back(id, queue, score, failed, body)
    local total, fragment = string.match(failed or '', '^{"failures":(%d+).-"due_ms":%d+,(.*)$')
    local detail = total and described(score, tonumber(total), fragment) or score
    note('restored', 't' .. queue, id, detail, body)
  end

  local function take_away(id, letter, score)
    redis.call('ZREM', QUEUE_OF[letter], id)
    if letter == 'd' then
      trash_dead(id, score, leave_clusters({id})[1])
    elseif letter == 'p' then
      discard(id, 's', TIMED and ms_text(now) or redis.call('HGET', PRIORITY, id) or RETRIED_MAX + 1)
      redis.call('HDEL', REPLACED, id)
    else
      discard(id, letter, score)
    end
  end

  local function set_body(key, id, body)
    if body and body ~= '' or key == REPLACED then
      redis.call('HSET', key, id, body or '')
    else
      redis.call('HDEL', key, id)
    end
  end

  -- Of {score, id, …} that are in the store or in retry again: what is sent from now on comes behind them, and what waited
  -- for one that failed waits for it once more.
  function stand_again(queue, scored)
    local last
    for i = 1, #scored, 2 do
      local score, failed = scored[i], false
      if queue == 'r' then
        failed = score % SHIFT > 0
      elseif score <= RETRIED_MAX then
        failed = true
      elseif not TIMED and (not last or math.ceil(score) - score > math.ceil(last) - last) then
        last = score
      end
      if failed and wait_behind then
        wait_behind(scored[i + 1])
      end
    end
    if last then
      number_after(last)
    end
  end

  local function put_waiting(id, copy, live)
    local there = live.s or live.r
    if not there then
      if not live.p then
        settle_dead(id)
      end
      keep_in_flight(id, redis.call('HGET', BODY, id))
    end
    if copy.score >= HELD_FROM then -- its hold may be gone; a take meets it again
      local score = copy.score
      copy.queue, copy.score = 's', tonumber(place_of_held(id, score, copy.priority))
      if score % SHIFT == 0 then -- that was its place, and no priority that is to be remembered
        copy.priority = nil
        forget_priority(id)
      end
    end
    if copy.queue == 's' and not TIMED then
      copy.score = plain_of(copy.score)
    end
    redis.call('ZADD', QUEUE_OF[copy.queue], copy.score, id)
    if not copy.keeps_body then
      set_body(BODY, id, copy.body)
    end
    if copy.failed and not copy.keeps_failed then
      redis.call('HSET', FAILED, id, copy.failed)
    end
    if copy.priority then
      remember_priorities({id, copy.priority})
    end
    stand_again(copy.queue, {copy.score, id})
  end

  local function put_in_flight(id, copy, waits)
    redis.call('ZADD', PREPARE, copy.score, id)
    if not copy.keeps_body then
      set_body(waits and REPLACED or BODY, id, copy.body)
    end
  end

  local function put_dead(id, copy, live)
    local known = redis.call('HGET', DEAD_RECORD, id)
    known = known and unpack_record(known) or live.d and unpack_record(packed_from_pools(id, 'd', live.d, nil)) or {}
    local failed, body = copy.failed, copy.body
    if copy.keeps_failed then
      failed = known.failed
    end
    if copy.keeps_body then
      body = known.body
    end
    redis.call('HSET', DEAD_RECORD, id, pack_record(
      'd', ms_text(copy.score), copy.priority or known.priority, nil, failed, body ~= '' and body
    ))
    redis.call('ZADD', DEAD, copy.score, id)
    if not live.d then
      enter_cluster(id, copy.cause or UNKNOWN, copy.score, failed or '')
    end
    return failed
  end

  -- A record that somebody has spoiled tells nothing, and nothing must stumble over it.
  local function drop_unreadable(id)
    local packed = redis.call('HGET', DEAD_RECORD, id)
    if packed and not string.match(packed, '^%a %S+ %S+ %S+ %S+ %S+ ') then
      redis.call('HDEL', DEAD_RECORD, id)
    end
  end

  -- `counts_lost`: the counters were lost with it.
  function set_right(id, copies, counts_lost)
    drop_unreadable(id)
    local live, wanted, waits = scores_of(id), {}, false
    for _, copy in ipairs(copies) do
      wanted[copy.queue] = copy
      waits = waits or copy.queue == 's' or copy.queue == 'r'
    end
    for _, letter in ipairs(QUEUES) do
      if live[letter] and not wanted[letter] then
        if waits and (letter == 's' or letter == 'r') then
          redis.call('ZREM', QUEUE_OF[letter], id) -- it only changes its queue
        else
          take_away(id, letter, live[letter])
        end
      end
    end
    if (live.s or live.r) and not waits then
      clear_suspects({id})
      waiting_left({id})
    end
    note('erased', '--', id, 0)
    for _, copy in ipairs(copies) do
      local letter, failed = copy.queue, nil
      if counts_lost and not live[letter] then
        count('restored', 1)
      end
      if letter == 'd' then
        failed = put_dead(id, copy, live)
      elseif letter == 'p' then
        put_in_flight(id, copy, waits)
        failed = not waits and redis.call('HGET', FAILED, id)
      else
        put_waiting(id, copy, live)
        failed = not wanted.p and redis.call('HGET', FAILED, id) -- else it may be that one's
      end
      note_back(id, copy.queue, copy.score, failed, not copy.keeps_body and (copy.body or ''))
    end
    forget({id}, {STORE, RETRY, PREPARE, DEAD})
  end
end
