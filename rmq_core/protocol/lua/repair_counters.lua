-- Corrects the counters of a slot, so that its ledger tells what its queues hold, and they what its journal tells.
-- KEYS   the slot's keys
-- ARGV   shape, the ledger's gap as it was seen, what of it is left when what is put back has been repaired, and what of
--        that is to be corrected as dropped (or, below 0, as restored) when the counters named are right; how often the
--        slot's counters had been corrected ('': not looked at); then counters, and what each counts too much: of `journaled`,
--        where it is no number, below 0 how far the journal was
-- reply  1 done, 0 the gap is another one by now, or they were corrected since: nothing was done; error RMQSHAPE <shape>:
--        nothing was done
-- include shared/slot.lua
-- include shared/marks.lua
-- include shared/misfit.lua
-- include shared/last_number.lua

local unfit = misfit(ARGV[1])
if unfit then
  return unfit
end

local names = {
  'sent', 'restored', 'merged', 'acked', 'cancelled', 'dropped', 'lapsed', 'duplicate', 'outdated', 'corrected',
}
local found = redis.call('HMGET', STATS, unpack(names))
-- Of what somebody has spoiled by hand nothing: no number, or a larger one than is ever counted (2^53).
local function counted(said)
  local n = string.match(said or '', '^-?%d+$') and tonumber(said)
  return n and math.abs(n) <= 9007199254740992 and n
end
local function counter(i)
  return counted(found[i]) or 0
end
local gap = counter(1) + counter(2) - counter(3) - counter(4) - counter(5) - counter(6) - counter(7) - counter(8) - counter(9)
for _, queue in ipairs({STORE, RETRY, PREPARE, DEAD}) do
  gap = gap - redis.call('ZCARD', queue)
end
local seen, left, by, corrected = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if gap ~= seen and gap ~= left or corrected and corrected ~= counter(10) then
  return 0
end
local journaled, journal_spoiled = last_number()
-- To what is spoiled nothing can be added.
names[#names + 1] = 'repaired'
for i = 6, #ARGV, 2 do
  names[#names + 1] = ARGV[i]
end
for _, name in ipairs(names) do
  local said = redis.call('HGET', STATS, name)
  if said and not counted(said) then
    redis.call('HDEL', STATS, name)
  end
end
if by > 0 then
  count('dropped', by)
else
  count('restored', -by)
end
for i = 6, #ARGV, 2 do
  if ARGV[i] ~= 'journaled' then
    count(ARGV[i], -tonumber(ARGV[i + 1]))
  elseif journal_spoiled then
    redis.call('HSET', STATS, 'journaled', string.format('%d', math.max(journaled, -tonumber(ARGV[i + 1]))))
  end
end
count('repaired', 1)
count('corrected', 1)
write_counts()
return 1
