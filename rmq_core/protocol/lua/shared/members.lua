-- Who takes from a group in a slot: MEMBERS holds '<seen ms> <taken> <acked> <failed> <acked per 1000 s, lately>' under each
-- name. Needs shared/counting.lua, shared/clock.lua.
local MEMBERS_MOST, LATELY_MS = 100, 10000

local function forget_who_was_seen_least_recently()
  local oldest, oldest_ms
  local all = redis.call('HGETALL', MEMBERS)
  for i = 1, #all, 2 do
    local seen_ms = tonumber(string.match(all[i + 1], '^%d+'))
    if not oldest or seen_ms < oldest_ms then
      oldest, oldest_ms = all[i], seen_ms
    end
  end
  redis.call('HDEL', MEMBERS, oldest)
end

-- Once, when all else is counted.
local function write_member()
  local taken, acked = counted.taken or 0, counted.acked or 0
  if member == '' or taken + acked + nacked == 0 then
    return
  end
  local known = redis.call('HGET', MEMBERS, member)
  local seen_ms, all_taken, all_acked, all_failed, rate = string.match(known or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  if not known and redis.call('HLEN', MEMBERS) >= MEMBERS_MOST then
    forget_who_was_seen_least_recently()
  end
  local quiet_ms = math.max(0, now - (tonumber(seen_ms) or now))
  redis.call('HSET', MEMBERS, member, string.format(
    '%.0f %.0f %.0f %.0f %.0f', now, (tonumber(all_taken) or 0) + taken, (tonumber(all_acked) or 0) + acked,
    (tonumber(all_failed) or 0) + nacked, (tonumber(rate) or 0) * math.exp(-quiet_ms / LATELY_MS) + acked * 1000000 / LATELY_MS
  ))
end
