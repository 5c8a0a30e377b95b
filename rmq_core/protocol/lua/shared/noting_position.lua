-- Has the journal tell where the group stands in its slot, and how many are ahead. Needs shared/group.lua, shared/journal.lua.
local at = own_position()
if at then
  local added = tonumber(redis.call('HGET', ENTRY_STATS, 'sent') or nil) or 0
  note('moved', '--', at.cursor, math.max(0, added - at.number))
end
