-- Who causes the load: what was sent ('s') and taken ('t') of each tenant lately, in a sorted set of TENANTS_MOST counters.
-- A newcomer for whom there is no room takes the place of the least, with its count: no count is ever too low, and their
-- sum is right. Members are the letter and the quoted tenant. What comes later weighs more, twice as much every
-- HALF_LIFE_MS since the slot's mark `load_ms`: so old load fades, and nothing has to be swept. Needs clock.
local note_load, write_load

do
  local TENANTS_MOST, HALF_LIFE_MS, DOUBLINGS_MOST = 256, 600000, 30
  local noted_load = {}

  -- One message with that body; false or '': none. Marks of a body: see rmq_core/model/bodies.py.
  function note_load(letter, body)
    local tenant = body and string.byte(body) == 3 and string.match(body, '^\3e?%+?%d*t(%S+) ')
    if tenant then
      noted_load[letter .. tenant] = (noted_load[letter .. tenant] or 0) + 1
    end
  end

  -- What one message weighs now.
  local function weight_now()
    local since = tonumber(redis.call('HGET', STATS, 'load_ms') or nil)
    local doublings = since and (now - since) / HALF_LIFE_MS
    if doublings and doublings <= DOUBLINGS_MOST then
      return 2 ^ doublings
    elseif doublings then
      redis.call('ZUNIONSTORE', TENANTS, 1, TENANTS, 'WEIGHTS', string.format('%.17g', 2 ^ -doublings))
    end
    redis.call('HSET', STATS, 'load_ms', string.format('%d', now))
    return 1
  end

  -- Call once, and not as the first write: a full server refuses one that adds.
  function write_load()
    if not next(noted_load) then
      return
    end
    local weight, held = weight_now(), redis.call('ZCARD', TENANTS)
    for member, n in pairs(noted_load) do
      local more = n * weight
      if not redis.call('ZSCORE', TENANTS, member) then
        if held < TENANTS_MOST then
          held = held + 1
        else
          more = more + redis.call('ZPOPMIN', TENANTS)[2]
        end
      end
      redis.call('ZINCRBY', TENANTS, string.format('%.17g', more), member)
    end
  end
end
