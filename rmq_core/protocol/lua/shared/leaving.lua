-- What leaves a slot by a route. ARGV[1]: how many keys are the slot's own; then as of ack.lua: policy, wake channel, slot;
-- how many messages, and of each id and receipt.
local OWN_KEYS, FIRST = tonumber(ARGV[1]), 16

local own_keys = {}
for i = 1, OWN_KEYS do
  own_keys[i] = KEYS[i]
end

local function refuses(KEYS, ARGV)
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
  return fenced()
end

local function settle_them(KEYS, ARGV)
-- include ack.lua
end

local own_args, held, some = {}, {}, false
for i = 2, 14 do
  own_args[i - 1] = ARGV[i]
end
local BEHIND = FIRST + tonumber(ARGV[15]) * 2

-- The reply to somebody who may not take from the slot; else which messages are still his (`held`), and whether any.
local function look()
  local refused = refuses(own_keys, own_args)
  if refused then
    return refused
  end
  local ids = {}
  for at = FIRST, BEHIND - 1, 2 do
    ids[#ids + 1] = ARGV[at]
  end
  for i, score in ipairs(redis.call('ZMSCORE', KEYS[3], unpack(ids))) do
    held[i] = score and tonumber(score) == tonumber(ARGV[FIRST + i * 2 - 1])
    some = some or held[i]
  end
  return nil
end

-- They are done here. Replies a status per message.
local function leave()
  for at = FIRST, BEHIND - 1 do
    own_args[at - 2] = ARGV[at]
  end
  return settle_them(own_keys, own_args)
end
