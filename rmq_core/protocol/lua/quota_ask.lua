-- Gives a slot more of its topic's max_backlog. What all slots were given together never exceeds that.
-- KEYS   the topic's quotas: slot → '<sequence> <limit>', and version, most, sum, checked, found
-- ARGV   version of the definition, max_backlog, slots, slot, wanted
-- reply  {1, version, sequence, limit}: the slot's new limit, to be set by quota_set.lua
--        {0, ms}: nothing is left, nor was when the slots were last measured; worth another try so much later
--        {2, sequence of each slot, …}: measure the slots first, and tell quota_note.lua
local SHARE = 50
local version, most, slots = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local slot, wanted = ARGV[4], tonumber(ARGV[5])
-- However many are refused: four slots are measured in a millisecond, not more.
local pause_ms = math.max(5, math.min(1000, math.floor(slots / 4)))
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function measure()
  local fields, reply = {}, {2}
  for i = 0, slots - 1 do
    fields[#fields + 1] = tostring(i)
    if #fields == 1000 or i == slots - 1 then
      for _, given in ipairs(redis.call('HMGET', KEYS[1], unpack(fields))) do
        reply[#reply + 1] = tonumber(string.match(given or '', '^%d+') or 0)
      end
      fields = {}
    end
  end
  return reply
end

local known = redis.call('HMGET', KEYS[1], 'version', 'most', 'sum', 'checked', 'found')
local known_version = tonumber(known[1] or nil)
if not known_version or known_version < version then
  return measure()
end
-- Whoever asks with an older definition is answered by the newer one.
most = tonumber(known[2])
local sum = tonumber(known[3])
local free = most - sum
if free < 1 then
  local checked, found = tonumber(known[4]), tonumber(known[5])
  -- Measuring costs a call per slot. When it found next to nothing a moment ago, it is not repeated for everybody.
  if now >= checked and now - checked < pause_ms and found * SHARE < most then
    return {0, checked + pause_ms - now}
  end
  return measure()
end
-- A little more than wanted, so that a busy slot does not ask for every message.
local permit = math.min(free, math.max(wanted, math.floor(free / (2 * slots))))
local sequence, limit = string.match(redis.call('HGET', KEYS[1], slot) or '', '^(%d+) (%d+)$')
sequence, limit = (tonumber(sequence) or 0) + 1, (tonumber(limit) or 0) + permit
redis.call('HSET', KEYS[1], slot, string.format('%d %.0f', sequence, limit), 'sum', string.format('%.0f', sum + permit))
return {1, known_version, sequence, limit}
