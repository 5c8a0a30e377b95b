-- Marks a slot with the life of its topic: scripts refuse callers that know another one. What an earlier life has left
-- goes with it: whoever deleted that has not come here yet. A mark of a later life stays, and so does that of one which
-- was deleted since. Its journal is switched on in the same step: between the two somebody would send, or take, what no
-- journal tells, and nothing that the slot held before a loss could be restored any more.
-- KEYS   the slot's keys
-- ARGV   shape: '<kind> <slots> <created_ms>', created_ms; then perhaps of its journal o(ff), e(vents) or f(ull), version
--        of the definition, entries after which sends are refused
-- reply  1: the slot has this mark; error RMQSHAPE <shape> of a format that this release does not know
-- include shared/slot.lua
-- include shared/holding.lua

local known, created_ms = redis.call('HGET', STATS, 'shape'), tonumber(ARGV[2])
known = known and (string.gsub(known, '^' .. HELD_FORMAT, ''))
if known == ARGV[1] then
  return 1
elseif known and string.match(known, '^f%d') then -- of a later format, see rmq_core/model/formats.py
  return redis.error_reply('RMQSHAPE ' .. known)
elseif known then
  local known_ms = tonumber(string.match(known, '(%d+)$')) or 0
  local is_gone = string.sub(known, 1, 4) == 'gone'
  if known_ms > created_ms or is_gone and known_ms == created_ms then
    return 0
  elseif not is_gone then
-- include shared/purging.lua
  end
end
redis.call('HSET', STATS, 'shape', ARGV[1])
redis.call('PERSIST', STATS)
local mode = ARGV[3] or 'o'
if mode ~= 'o' and redis.call('HEXISTS', STATS, 'journal') == 0 then
  local wanted = table.concat(ARGV, ' ', 3)
-- include shared/journal.lua
-- include shared/journal_switch.lua
end
return 1
