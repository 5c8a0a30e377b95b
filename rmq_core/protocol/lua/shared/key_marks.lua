-- What waits because as many of its slot basis are in flight as may be (`key_concurrency`). Which that are says the prepare
-- queue; nothing is counted beside it. The two sets of shared/order.lua serve here, for no topic has both: ORDER_WAITS lists
-- '<length of the basis>:<basis><place><id>' of what waits, all with score 0, and so by basis and place; ORDER_SINCE says of
-- each such basis when it is looked at next (0: something of it has left). Needs policy, hold_marks.

-- Whether a hold of this kind is the one of the limit as it is now.
function limits.is_key_limit(hold)
  return limits.of_a_key and hold.note == ms_text(limits.of_a_key)
end

-- When somebody has to look after what waits: within a second, for the limit may be another one by then.
function limits.key_look()
  local look = limits.of_a_key and redis.call('ZRANGE', ORDER_SINCE, 0, 0, 'WITHSCORES')[2]
  return math.max(now, math.min(look and tonumber(look) or now, now + 1000))
end

if HOLDS or limits.of_a_key then
  -- The bodies of deliveries: where a newer message of the id waits, the pool is that one's.
  function limits.bodies_in_flight(ids)
    local bodies = redis.call('HMGET', BODY, unpack(ids))
    if redis.call('EXISTS', REPLACED) == 1 then
      for i, body in ipairs(redis.call('HMGET', REPLACED, unpack(ids))) do
        if body then
          bodies[i] = body ~= '' and body
        end
      end
    end
    return bodies
  end
end

for _, hold in ipairs(HOLDS or {}) do
  if hold.kind == 'k' then
    -- Call when deliveries have left the prepare queue, and before their bodies go: others of their bases may go on.
    function limits.make_room(ids)
      local looks = {}
      for i, body in ipairs(limits.bodies_in_flight(ids)) do
        looks[#looks + 1] = 0
        looks[#looks + 1] = limits.basis_of(ids[i], body)
      end
      if redis.call('ZADD', ORDER_SINCE, 'XX', 'CH', unpack(looks)) > 0 then
        limits.freed = true
      end
    end
  end
end
