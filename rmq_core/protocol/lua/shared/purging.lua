-- Deletes every key of the slot, whatever it holds; `gone` is the number of messages that went with it. Needs
-- shared/keys.lua, shared/holding.lua.
local gone = held_in_all()
for _, key in ipairs(KEYS) do
  if key ~= HEADS and key ~= DUE then
    redis.call('UNLINK', key)
  end
end
-- On Cluster the store stands in the places of the hints.
redis.call('UNLINK', STORE)
