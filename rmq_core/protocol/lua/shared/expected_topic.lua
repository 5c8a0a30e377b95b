-- Whether a topic's definition is still the expected one. Returns it and when it was created, or nil, nil, and what to reply.
local function expected_topic(registry, name, version, created_ms, format_key, known_format)
  local format = redis.call('GET', format_key)
  if format and format ~= known_format then
    return nil, nil, redis.error_reply('RMQFORMAT ' .. format)
  end
  local stored = redis.call('HGET', registry, name)
  local there = stored and tonumber(string.match(stored, '^{"version":(%d+),')) or 0
  local born = stored and tonumber(string.match(stored, '"created_ms":(%d+)') or 0)
  if there ~= tonumber(version) or born ~= tonumber(created_ms) then
    return nil, nil, redis.error_reply(string.format('RMQVERSION %d', there))
  end
  return stored, born, nil
end
