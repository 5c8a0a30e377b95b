-- Deletes entries of a slot of a stream topic.
-- KEYS   the slot's stream, stats, journal
-- ARGV   shape, then ids
-- reply  1 deleted or 0 not there, for each; error RMQSHAPE <shape>
-- include shared/stream.lua

local unfit = misfit(ARGV[1])
if unfit then
  return unfit
end
local reply = {}
for i = 2, #ARGV do
  local gone = redis.call('XDEL', STORE, ARGV[i])
  reply[i - 1] = gone
  if gone == 1 then
    count('deleted', 1)
    note('deleted', 's-', ARGV[i], 0)
  end
end
write_counts()
return reply
