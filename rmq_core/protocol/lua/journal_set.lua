-- Switches a slot's journal on or off, or gives it another limit, unless a later definition has done so already.
-- KEYS   the slot's keys
-- ARGV   shape; o(ff), e(vents) or f(ull); version of the definition; entries after which sends are refused (0: never)
-- reply  1 done, 0 it is so already, or a later definition says otherwise; error RMQSHAPE <shape>: nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/holding.lua

local unfit = misfit(ARGV[1])
if unfit then
  return unfit
end
local mode, version = ARGV[2], tonumber(ARGV[3])
local wanted = table.concat(ARGV, ' ', 2)
-- One that nobody can read, since somebody has overwritten it, is set anew.
local known = tonumber(string.match(MARK or '', '^[oef] (%d+) %d+$') or nil)
if known and known > version and known < 2^53 or MARK == wanted or not MARK and mode == 'o' then
  return 0
end
-- include shared/journal_switch.lua
return 1
