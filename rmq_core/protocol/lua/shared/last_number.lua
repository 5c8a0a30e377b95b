-- How far the running numbers of the slot's journal are. Needs shared/keys.lua, JOURNAL.

-- What somebody has spoiled by hand no script has counted on from, so it is what the last entry says; -1: none is left.
local function last_number()
  local said = redis.call('HGET', STATS, 'journaled') or '0'
  local n = string.match(said, '^%d+$') and tonumber(said)
  if n and n <= 9007199254740992 then
    return n, false
  end
  local last = redis.call('XREVRANGE', JOURNAL, '+', '-', 'COUNT', 1)[1]
  return last and last[2][1] == 'n' and tonumber(last[2][2]) or -1, true
end
