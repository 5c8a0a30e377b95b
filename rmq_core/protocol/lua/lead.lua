-- Takes, renews or ends the lead of a role.
-- KEYS   the lease, the counter of terms
-- ARGV   holder, ttl_ms (0 ends the lead)
-- reply  {the holder's term (0: it does not lead), ms the lease lasts (0: nobody leads)}
local held = redis.call('GET', KEYS[1])
local term, holder = string.match(held or '', '^(%d+) (.*)$')
local ttl_ms = tonumber(ARGV[2])
if held and holder ~= ARGV[1] then
  local left = redis.call('PTTL', KEYS[1])
  if ttl_ms > 0 and left > ttl_ms then
    -- The clock has stepped back: nobody holds a lease for longer than it was given.
    redis.call('PEXPIRE', KEYS[1], ttl_ms)
    left = ttl_ms
  end
  return {0, left}
end
if ttl_ms == 0 then
  redis.call('DEL', KEYS[1])
  return {0, 0}
end
-- Removed first: a full server refuses a script whose first write adds, and who leads makes room.
redis.call('DEL', KEYS[1])
if not held then
  term = string.format('%d', redis.call('INCR', KEYS[2]))
end
redis.call('SET', KEYS[1], term .. ' ' .. ARGV[1], 'PX', ttl_ms)
return {tonumber(term), ttl_ms}
