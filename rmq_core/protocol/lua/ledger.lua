-- What the ledger of one slot says at one instant, and how far its journal has come; reads only.
-- KEYS   store (of a stream topic: its entries), retry, prepare, dead, body, failed, stats, journal; of a group also positions
-- ARGV   of a group: its name
-- reply  {now, store, retry, prepare, dead, bodies, failure records, {counter, n, …}, entries in the journal,
--        id of the entry written last, whether or not it is still there ('' before the first),
--        of a stream topic: how many entries were ever added (-1: another kind, or an old server, which does not say),
--        of a group: where it stands, as shared/positions.lua has it ('': nowhere)}
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function told(key, name)
  local info = redis.call('XINFO', 'STREAM', key)
  for i = 1, #info, 2 do
    if info[i] == name then
      return info[i + 1]
    end
  end
end

local is_stream = redis.call('TYPE', KEYS[1]).ok == 'stream'
local held = is_stream and 'XLEN' or 'ZCARD'
return {
  now,
  redis.call(held, KEYS[1]), redis.call('ZCARD', KEYS[2]), redis.call('ZCARD', KEYS[3]), redis.call('ZCARD', KEYS[4]),
  redis.call('HLEN', KEYS[5]), redis.call('HLEN', KEYS[6]), redis.call('HGETALL', KEYS[7]),
  redis.call('XLEN', KEYS[8]), redis.call('EXISTS', KEYS[8]) == 1 and told(KEYS[8], 'last-generated-id') or '',
  is_stream and told(KEYS[1], 'entries-added') or -1,
  KEYS[9] and redis.call('HGET', KEYS[9], ARGV[1]) or '',
}
