-- The slot's marks: whether its changes are journaled, and of which life of the topic it is. The first says it for
-- everybody, whatever definition a client still knows: '<o(ff) e(vents) f(ull)> <version> <limit>'. The last is the time
-- (ms) that receipts tell at least, see shared/handed_out.lua. Needs shared/keys.lua.
local marks = redis.call('HMGET', STATS, 'journal', 'shape', 'placed', 'fair', 'receipts_from', 'stepped_back')
local MARK = marks[1]
local JOURNALING = MARK and string.byte(MARK) ~= 111 -- o
local JOURNAL_FULL = JOURNALING and string.byte(MARK) == 102 -- f
