-- Deletes every key of the slot, whatever it holds; `gone` is the number of messages that went with it. Needs
-- shared/keys.lua, shared/holding.lua.
local gone = held_in_all()
for _, key in ipairs(KEYS) do
  if key ~= HEADS and (key ~= TURNS or HEADS == STORE) and key ~= DUE and key ~= ENTRIES and key ~= ENTRY_STATS and key ~= POSITIONS then
    redis.call('UNLINK', key)
  end
end
if ENTRIES then
  redis.call('HDEL', POSITIONS, string.match(STATS, '^stats@([^{]+)'))
end
-- On Cluster the store stands in the places of the hints.
redis.call('UNLINK', STORE)
