-- Where targets are on other nodes: what was taken is settled, and what is to be brought to them is written beside it, in
-- the order of the slot. Whoever brings it begins with what comes first there.
-- KEYS   the slot's keys, what is on its way
-- ARGV   as shared/leaving.lua tells; most that may be on its way; then a message's position, what to bring, position, …
-- reply  status per message (1, 0 stale); error RMQFENCED <epoch>, RMQSHAPE <shape>: nothing was done; RMQFULL <on its
--        way>: so much is on its way already
-- include shared/leaving.lua

local refused = look()
if refused then
  return refused
end
local OUT = KEYS[OWN_KEYS + 1]
local waiting = redis.call('XLEN', OUT)
if waiting >= tonumber(ARGV[BEHIND]) then
  return redis.error_reply(string.format('RMQFULL %d', waiting))
end
for at = BEHIND + 1, #ARGV, 2 do
  if held[tonumber(ARGV[at])] then
    redis.call('XADD', OUT, '*', 'v', ARGV[at + 1])
  end
end
return leave()
