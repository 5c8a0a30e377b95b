-- Takes back the permits that a slot was given and does not use: its limit is now what is in flight in it. What has
-- timed out is not, though nobody has put it back yet.
-- KEYS   the slot's prepare queue, stats
-- ARGV   generation of the definition, the sequence the topic's permits had for the slot, timeout_ms
-- reply  {the limit, its sequence}: of the one after that, or where the slot is further than that, what it has: somebody
--        else was faster, or the topic's permits have lost what they had given (a failover); {-1, 0}: there is a newer definition
-- include shared/permits.lua
local version, expected = tonumber(ARGV[1]), tonumber(ARGV[2])
local known = read_permits(KEYS[2])
if known and known.version > version then
  return {-1, 0}
elseif known and known.sequence > expected + 1 then
  return {known.limit, known.sequence}
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local used = redis.call('ZCOUNT', KEYS[1], string.format('(%d', (now - tonumber(ARGV[3])) * 1000 + 999), '+inf')
if known and known.sequence == expected + 1 then
  -- Another measurement of the same sequence, or one whose author died before telling: the lower one holds for both.
  used = math.min(used, known.limit)
end
-- Also where it had none: what was given meanwhile comes too late then.
if redis.call('HEXISTS', KEYS[2], 'shape') == 1 and (used > 0 or known or expected > 0) then
  write_permits(KEYS[2], ARGV[1], string.format('%d', expected + 1), string.format('%d', used), known and known.until_ms or 0)
end
return {used, expected + 1}
