-- What waits for a version before it: `order_waits` lists '<length of the key>:<key>:<16 digits of the version>', all with
-- score 0 and so by key and version; `order_since` says of each such key since when its order has not moved.
local function wait_prefix(key)
  return #key .. ':' .. key .. ':'
end

local function wait_mark(key, version)
  return wait_prefix(key) .. string.format('%016d', version)
end

-- The first mark of a key; nil: nothing of it waits.
local function first_wait(key)
  local prefix = wait_prefix(key)
  return redis.call('ZRANGEBYLEX', ORDER_WAITS, '[' .. prefix, '[' .. prefix .. '\255', 'LIMIT', 0, 1)[1]
end

-- It waits no more.
local function forget_wait(id)
  local key, version = string.match(id, '^(.+)#(%d+)$')
  if key and redis.call('ZREM', ORDER_WAITS, wait_mark(key, version)) == 1 and not first_wait(key) then
    redis.call('ZREM', ORDER_SINCE, key)
  end
end
