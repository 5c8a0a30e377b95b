-- Deletes entries of a slot of a stream topic.
-- KEYS   the slot's stream, stats, journal, groups' positions
-- ARGV   shape, then ids
-- reply  1 deleted or 0 not there, for each; error RMQSHAPE <shape>
-- include shared/stream.lua
-- include shared/positions.lua

local unfit = misfit(ARGV[1])
if unfit then
  return unfit
end
local reply, rows = {}, redis.call('HGETALL', POSITIONS)
for i = 2, #ARGV do
  local gone = redis.call('XDEL', STORE, ARGV[i])
  reply[i - 1] = gone
  if gone == 1 then
    count('deleted', 1)
    note('deleted', 's-', ARGV[i], 0)
    for row = 1, #rows, 2 do
      local at = read_position(rows[row + 1])
      if at.cursor and before(at.cursor, ARGV[i]) then
        pass_over(at, 1)
        rows[row + 1] = position_text(at)
        redis.call('HSET', POSITIONS, rows[row], rows[row + 1])
      end
    end
  end
end
write_counts()
return reply
