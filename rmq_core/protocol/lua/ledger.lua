-- What the ledger of one slot says at one instant, and how far its journal has come; reads only.
-- KEYS   store (of a stream topic: its entries), retry, prepare, dead, body, failed, stats, journal
-- reply  {now, store, retry, prepare, dead, bodies, failure records, {counter, n, …}, entries in the journal,
--        id of the entry written last, whether or not it is still there ('' before the first)}
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function written_last()
  if redis.call('EXISTS', KEYS[8]) == 0 then
    return ''
  end
  local info = redis.call('XINFO', 'STREAM', KEYS[8])
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then
      return info[i + 1]
    end
  end
end

local held = redis.call('TYPE', KEYS[1]).ok == 'stream' and 'XLEN' or 'ZCARD'
return {
  now,
  redis.call(held, KEYS[1]), redis.call('ZCARD', KEYS[2]), redis.call('ZCARD', KEYS[3]), redis.call('ZCARD', KEYS[4]),
  redis.call('HLEN', KEYS[5]), redis.call('HLEN', KEYS[6]), redis.call('HGETALL', KEYS[7]),
  redis.call('XLEN', KEYS[8]), written_last(),
}
