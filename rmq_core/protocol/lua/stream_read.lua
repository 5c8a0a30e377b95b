-- What some slots of a stream topic hold between two ids; reads only.
-- KEYS   the stream and the stats of each slot
-- ARGV   shape, XRANGE or XREVRANGE, most entries per slot, then per slot: from, to (as that command takes them)
-- reply  per slot {{id, {name, value, …}}, …}; error RMQSHAPE <shape>
local replies = {}
for i = 1, #KEYS, 2 do
  local shape = redis.call('HGET', KEYS[i + 1], 'shape')
  if shape and shape ~= ARGV[1] then
    return redis.error_reply('RMQSHAPE ' .. shape)
  end
  replies[#replies + 1] = redis.call(ARGV[2], KEYS[i], ARGV[i + 3], ARGV[i + 4], 'COUNT', ARGV[3])
end
return replies
