-- Cuts a slot of a stream topic to its bounds where nobody sends; by age exactly, for who bounds an age wants it kept.
-- KEYS   the slot's stream, stats, journal, groups' positions
-- ARGV   shape, length to keep, age to keep (ms) (0: any), trim (exact|nearly), what groups have not finished
--        (kept|cut)
-- reply  how many entries were cut, at most some 20,000; error RMQSHAPE <shape>
-- include shared/stream.lua
-- include shared/positions.lua
-- include shared/trimming.lua

local unfit = misfit(ARGV[1])
if unfit then
  return unfit
end
local gone = trim(tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == 'exact', true, ARGV[5] == 'cut')
write_counts()
return gone
