-- The largest id that a stream ever had, whether or not its entry is still there; '0-0' before the first.
local function last_id(stream)
  if redis.call('EXISTS', stream) == 0 then
    return '0-0'
  end
  local told = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #told, 2 do
    if told[i] == 'last-generated-id' then
      return told[i + 1]
    end
  end
end
