-- What follows the death of messages and has still to be sent, the oldest first; reads only.
-- KEYS   the slot's `owed`
-- ARGV   most
-- reply  {entry, id, body, …}
local found = {}
for i, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[1])) do
  found[i * 3 - 2], found[i * 3 - 1], found[i * 3] = entry[1], entry[2][2], entry[2][4]
end
return found
