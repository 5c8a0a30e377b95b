-- How large a slot's journal is, and how old what its readers have not read; reads only.
-- KEYS   the slot's keys
-- ARGV   id of the last entry each reader has committed ('0': none)
-- reply  {now, entries, bytes (about; -1: unknown), running number of the last entry (-1: nobody
--        knows), id of the first entry ('': none),
--        {id of the first entry a reader has not committed ('': none), …}}
-- include shared/slot.lua

local JOURNAL = KEYS[9]
-- include shared/last_number.lua

local function first_after(position)
  local found = redis.call('XRANGE', JOURNAL, position, '+', 'COUNT', 1)
  return found[1] and found[1][1] or ''
end

local entries, bytes, unread = redis.call('XLEN', JOURNAL), 0, {}
if entries > 0 then
  -- Not every server that runs our scripts knows the command.
  bytes = redis.pcall('MEMORY', 'USAGE', JOURNAL)
end
for i, position in ipairs(ARGV) do
  unread[i] = first_after('(' .. position)
end
return {
  now, entries, type(bytes) == 'number' and bytes or -1,
  (last_number()), first_after('-'), unread,
}
