-- How many of a slot may be in flight, of a topic with `concurrency`: its mark 'permits' is '<generation> <sequence> <limit>
-- <until when (ms)>'. Then it asks for more, even of what it has: others may have waited for longer.
local PERMITTED_MS = 200

local function read_permits(stats)
  local text = redis.call('HGET', stats, 'permits') or ''
  local version, sequence, limit, until_ms = string.match(text, '^(%d+) (%d+) (%d+) (%d+)$')
  return version and {
    version = tonumber(version), sequence = tonumber(sequence), limit = tonumber(limit), until_ms = tonumber(until_ms),
  }
end

-- How many more may be in flight than are, by a definition of that generation.
local function permitted(permits, generation, now, in_flight)
  if permits and permits.version >= generation and permits.until_ms > now and permits.until_ms <= now + PERMITTED_MS then
    return math.max(0, permits.limit - in_flight)
  end
  return 0
end

local function write_permits(stats, version, sequence, limit, until_ms)
  -- Removed first: a full server refuses a script whose first write adds.
  redis.call('HDEL', stats, 'permits')
  redis.call('HSET', stats, 'permits', string.format('%s %s %s %.0f', version, sequence, limit, until_ms))
end
