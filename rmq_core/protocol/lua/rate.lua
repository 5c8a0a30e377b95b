-- Grants takes from a topic whose rate is limited: a bucket that fills steadily. It holds what comes in a fortieth of a
-- second, or one message, and another fortieth, so that whoever asks a little late loses nothing.
-- KEYS   the topic's rate: the time (µs) up to which its messages have been granted
-- ARGV   rate_limit (per second), wanted, given back
-- reply  {granted, µs until there is more (0 when something was granted)}
local BURST_S, FORGOTTEN_MS = 0.025, 60000
local rate, wanted, returned = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local each = 1000000 / rate
local most = math.max(1, rate * BURST_S) + rate * BURST_S

local granted_to = (tonumber(redis.call('GET', KEYS[1]) or nil) or 0) - returned * each
-- Not later than now, either: the clock may have stepped back.
granted_to = math.min(now, math.max(granted_to, now - most * each))
-- What is whole but for the rounding of a double is whole.
local granted = math.max(0, math.min(wanted, math.floor((now - granted_to) / each + 0.001)))
granted_to = granted_to + granted * each
-- Removed first: a full server refuses a script whose first write adds, and consumers are who drains it.
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], string.format('%.3f', granted_to), 'PX', FORGOTTEN_MS)
return {granted, granted > 0 and 0 or math.max(1, math.ceil(granted_to + each - now))}
