-- Gives the slot's journal the mark `wanted` of `mode`, and has it begin or end. Needs slot, journal, holding.
local on = mode ~= 'o'
-- Where nothing had been counted before, the journal tells all that is; a reconciliation compares.
local before = redis.call('HMGET', STATS, 'told', 'sent', 'restored')
local fresh = not JOURNALING and tonumber(before[2] or 0) + tonumber(before[3] or 0) == 0
local told = on and (before[1] or fresh)
-- Removed first: a full server refuses a script whose first write adds.
redis.call('HDEL', STATS, 'journal', 'told')
if on and not JOURNALING then
  -- What the slot holds already came to it unreported.
  local held = held_in_all()
  JOURNALING = true
  begin_entry()
  note('began', '--', '', held)
  if GROUP then
-- include shared/noting_position.lua
  end
  -- A life that came right after another began a moment ahead of the clock, and so does its journal: whatever is not
  -- behind the deletion of the one before is taken for that one's.
  local born = tonumber(string.match(marks[2] or '', '(%d+)$') or nil) or 0
  local first = redis.call('EXISTS', JOURNAL) == 0
  write_journal(first and string.format('%.0f-0', math.max(now, born)) or nil)
elseif JOURNALING and not on then
  note('ended', '--', '', 0)
  write_counts()
end
redis.call('HSET', STATS, 'journal', wanted)
if fresh and not ENTRIES and string.find(ARGV[1], '^stream ') and redis.call('EXISTS', STORE) == 0 then
  -- From its first entry on, what the server counts as added is what was sent and this.
  redis.call('HSETNX', STATS, 'taken_back', 0)
end
if told then
  redis.call('HSET', STATS, 'told', 1)
end
