-- What followed the death of messages has been sent.
-- KEYS   the slot's keys
-- ARGV   shape, then ids of entries in `owed`
-- reply  how many are left; error RMQSHAPE <shape>: nothing was done
-- include shared/keys.lua
-- include shared/marks.lua
-- include shared/misfit.lua

local unfit = misfit(ARGV[1])
if unfit then
  return unfit
end
redis.call('XDEL', OWED, unpack(ARGV, 2))
local left = redis.call('XLEN', OWED)
if left == 0 then
  redis.call('DEL', OWED)
  redis.call('HDEL', STATS, 'owed')
else
  redis.call('HSET', STATS, 'owed', left)
end
return left
