-- Versions of a key in their order: `<key>#<version>` is handed out when the one before it has been handled. `order_last` says
-- of each key which that was; what a take meets too early is set aside by the slot's hold of the kind 'o', and only the next one
-- comes back. Nothing of this is there where the topic has no order. Needs policy, bodies, returning, holds.
if ORDER then
-- include shared/version_of.lua
-- include shared/order_marks.lua
  ORDER.wait_mark = wait_mark
  -- What left in other ways than by its turn is forgotten where it is met; so many at once.
  local GONE_MOST = 1000

  -- The key and the version of what has an order; nil: it has none.
  function ORDER.of(id, body)
    local version = version_of(body)
    local mark = '#' .. ms_text(version)
    if version > 0 and #id > #mark and string.sub(id, -#mark) == mark then
      return string.sub(id, 1, -#mark - 1), version
    end
    return nil
  end

  -- The version of a key that was handled last; nil: it begins with whichever comes first.
  function ORDER.last_handled(key)
    return tonumber(redis.call('HGET', ORDER_LAST, key) or nil) or ORDER.first > 0 and ORDER.first - 1 or nil
  end

  -- The score of what order keeps back; nil: it does not.
  local function waits_at(id)
    local score = tonumber(redis.call('ZSCORE', RETRY, id) or nil)
    if score and score >= HELD_FROM then
      local number = math.floor((score - HELD_FROM) / SHIFT)
      for _, hold in ipairs(HOLDS or {}) do
        if hold.kind == 'o' and hold.number == number then
          return score
        end
      end
    end
    return nil
  end

  -- The lowest version of a key that waits; nil: none does. Those that its order has passed by, by a skip, go to their places,
  -- where the next take ends them as outdated: none of them may be the next one again.
  function ORDER.lowest_waiting(key)
    local following = (ORDER.last_handled(key) or 0) + 1
    for _, mark in ipairs(passed_waits(key, following, GONE_MOST)) do
      local id = key .. '#' .. ms_text(tonumber(string.sub(mark, -16)))
      local score = waits_at(id)
      redis.call('ZREM', ORDER_WAITS, mark)
      if score then
        lift_one(id, score)
        count('lifted', 1)
      end
    end
    for _ = 1, GONE_MOST do
      local mark = first_wait(key, following)
      if not mark then
        break
      end
      local version = tonumber(string.sub(mark, -16))
      if waits_at(key .. '#' .. ms_text(version)) then
        return version
      end
      redis.call('ZREM', ORDER_WAITS, mark)
    end
    if not first_wait(key, 0) then
      redis.call('ZREM', ORDER_SINCE, key)
    end
    return nil
  end

  -- Brings back the version whose turn it is, if it waits.
  local function let_go(key, version)
    local id = key .. '#' .. ms_text(version)
    local score = waits_at(id)
    if score then
      redis.call('ZREM', ORDER_WAITS, wait_mark(key, version))
      lift_one(id, score)
      count('lifted', 1)
    end
    if redis.call('ZREM', ORDER_SINCE, key) == 1 and ORDER.lowest_waiting(key) then
      redis.call('ZADD', ORDER_SINCE, now, key)
    end
  end

  -- They have just been acknowledged, and their bodies are still there.
  function ORDER.note_handled(ids)
    local bodies, last, order = redis.call('HMGET', BODY, unpack(ids)), {}, {}
    for i, id in ipairs(ids) do
      local key, version = ORDER.of(id, bodies[i])
      if key and version > (last[key] or ORDER.last_handled(key) or 0) then
        if not last[key] then
          order[#order + 1] = key
        end
        last[key] = version
      end
    end
    for _, key in ipairs(order) do
      redis.call('HSET', ORDER_LAST, key, ms_text(last[key]))
      if HOLDS then
        let_go(key, last[key] + 1)
      end
    end
  end

  -- The order of a key goes on with that version, whatever there was before it.
  function ORDER.skip_to(key, version)
    local last = ORDER.last_handled(key) or 0
    redis.call('HSET', ORDER_LAST, key, ms_text(version - 1))
    let_go(key, version)
    count('skipped', math.max(0, version - 1 - last))
  end

  -- Goes on without what has been missing for too long, of at most `most` keys. Returns of how many it looked.
  function ORDER.skip_missing(most)
    if ORDER.skip_after == 0 then
      return 0
    end
    local keys = redis.call('ZRANGEBYSCORE', ORDER_SINCE, '-inf', ms_text(now - ORDER.skip_after), 'LIMIT', 0, most)
    for _, key in ipairs(keys) do
      local version = ORDER.lowest_waiting(key)
      local following = (ORDER.last_handled(key) or 0) + 1
      local wanted = version and key .. '#' .. ms_text(following)
      if wanted and version > following and (waiting(wanted) or redis.call('ZSCORE', PREPARE, wanted)) then
        redis.call('ZREM', ORDER_SINCE, key)
        redis.call('ZADD', ORDER_SINCE, now, key) -- it will come by itself
      elseif wanted then
        ORDER.skip_to(key, version)
      end
    end
    return #keys
  end
end
