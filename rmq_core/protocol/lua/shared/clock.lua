-- The server's clock: milliseconds, and microseconds beyond the second.
local time = redis.call('TIME')
micros = tonumber(time[2])
now = tonumber(time[1]) * 1000 + math.floor(micros / 1000)
