-- The slots that a topic's hints name first; reads only.
-- KEYS   heads, due
-- ARGV   timed (1|0), most
-- reply  {now, {slot, head, …} best first, {slot, next_due_ms, …} earliest first; nothing on timed topics}
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local timed, last = ARGV[1] == '1', tonumber(ARGV[2])
local heads = redis.call(timed and 'ZRANGE' or 'ZREVRANGE', KEYS[1], 0, last, 'WITHSCORES')
return {now, heads, timed and {} or redis.call('ZRANGE', KEYS[2], 0, last, 'WITHSCORES')}
