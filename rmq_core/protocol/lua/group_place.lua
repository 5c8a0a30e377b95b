-- Where a group stands in a slot: places one that is not there yet, or sets another position, or says what that would do.
-- KEYS   the slot's keys of the group
-- ARGV   shape, how (new: only where it is not there|set: only where it is|plan: changes nothing), durable (d|n), where: start, end or at;
--        of `at` also: the id that it stands behind, how many entries were counted behind that, how many had been added
--        and deleted when they were, the first of them ('' none)
-- reply  {1 done, 0 there is one already (new), lag before (-1: there was none), lag now, the id it stands behind}
--        error RMQSHAPE <shape>, RMQMOVED: what was counted holds no more; nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/last_id.lua

local how, where = ARGV[2], ARGV[4]
if marks[2] ~= ARGV[1] then
  return redis.error_reply('RMQSHAPE ' .. (marks[2] or 'none'))
end
local at = own_position()
if not at and how ~= 'new' then
  return redis.error_reply('RMQSHAPE none')
end
-- What somebody has spoiled says nothing, and another position may take its place.
local readable = at and at.cursor
local told = redis.call('HMGET', ENTRY_STATS, 'sent', 'deleted')
local added, deleted = tonumber(told[1] or nil) or 0, tonumber(told[2] or nil) or 0
local lag_before = readable and added - at.number or -1
if at and how == 'new' then
  return {0, lag_before, lag_before, at.cursor or ''}
end
local length = redis.call('XLEN', ENTRIES)
local cursor, ahead
if where == 'start' then
  cursor, ahead = '0-0', length
elseif where == 'end' then
  cursor, ahead = last_id(ENTRIES), 0
else
  local counted_behind, added_then, deleted_then, first = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9]
  if deleted ~= deleted_then or (first ~= '' and #redis.call('XRANGE', ENTRIES, first, first) == 0) then
    return redis.error_reply('RMQMOVED')
  end
  cursor, ahead = ARGV[5], counted_behind + added - added_then
  if ahead == 0 then
    -- A position beyond the end is the end: what comes then would be passed by otherwise, and counted as ahead.
    local last = last_id(ENTRIES)
    cursor = is_before(last, cursor) and last or cursor
  end
end
if how == 'plan' then
  return {1, lag_before, ahead, cursor}
end
-- First, and of a field that is never there: a full server refuses a script whose first write adds, and to be behind the
-- end is what lets entries be trimmed.
redis.call('HDEL', STATS, '')
local durable = ARGV[3] == 'd'
if readable then
  durable = at.durable
end
position = {
  cursor = cursor, number = added - ahead, furthest = readable and at.furthest or cursor, missed = readable and at.missed or 0,
  first = cursor, first_number = added - ahead + 1, durable = durable,
}
if is_before(position.furthest, cursor) then
  position.furthest = cursor
end
position_moved = true
if at then
  count('moved', 1)
  note('moved', '--', cursor, ahead)
end
write_counts()
return {1, lag_before, ahead, cursor}
