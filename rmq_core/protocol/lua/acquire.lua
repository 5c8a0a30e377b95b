-- Raises a slot's fence to an owner's epoch; from then on only that epoch may take and settle.
-- KEYS   the fence, the counters (so that samplers see the new owner)
-- ARGV   epoch, as a number of fixed width so that text order is number order; shape
-- reply  the previous epoch ('' for none); error RMQEPOCH <epoch> when a higher one has been seen, RMQSHAPE <shape>:
--        nothing was done
local shape = redis.call('HGET', KEYS[2], 'shape')
if shape and shape ~= ARGV[2] and shape ~= 'f2 ' .. ARGV[2] then
  return redis.error_reply('RMQSHAPE ' .. shape)
end
local fence = redis.call('GET', KEYS[1]) or ''
if ARGV[1] < fence then
  return redis.error_reply('RMQEPOCH ' .. fence)
end
-- Removed first: a full server refuses a script whose first write adds, and without owners nobody would drain it.
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1])
redis.call('HINCRBY', KEYS[2], 'claimed', 1)
return fence
