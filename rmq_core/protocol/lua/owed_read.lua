-- What follows the death of messages and has still to be sent, the oldest first; reads only.
-- KEYS   the slot's `owed`
-- ARGV   most, the entry behind which to begin ('': with the first)
-- reply  {entry, id, body, …}
local found, from = {}, ARGV[2] == '' and '-' or '(' .. ARGV[2]
for i, entry in ipairs(redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', ARGV[1])) do
  found[i * 3 - 2], found[i * 3 - 1], found[i * 3] = entry[1], entry[2][2], entry[2][4]
end
return found
