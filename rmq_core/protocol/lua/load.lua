-- Who causes the load of one slot; reads only. See shared/load.lua.
-- KEYS   the slot's keys
-- ARGV   most
-- reply  {now, what the weights count from (ms), how many counters, the least of them, all that was sent, all that was
--        taken, {member, score, …} the most first}; {} where nothing names a tenant
-- include shared/keys.lua
-- include shared/clock.lua

local since = redis.call('HGET', STATS, 'load_ms')
if not since then
  return {}
end
local all = redis.call('ZREVRANGE', TENANTS, 0, -1, 'WITHSCORES')
local sums, most = {s = 0, t = 0}, {}
for i = 1, #all, 2 do
  local letter = string.sub(all[i], 1, 1)
  sums[letter] = sums[letter] + all[i + 1]
  if i < ARGV[1] * 2 then
    most[i], most[i + 1] = all[i], all[i + 1]
  end
end
return {
  now, tonumber(since), #all / 2, all[#all] or '0', string.format('%.17g', sums.s), string.format('%.17g', sums.t), most,
}
