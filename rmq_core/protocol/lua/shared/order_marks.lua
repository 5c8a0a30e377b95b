-- What waits for a version before it: `order_waits` lists '<length of the key>:<key>:<16 digits of the version>', all with
-- score 0 and so by key and version; `order_since` says of each such key since when its order has not moved.
local function wait_prefix(key)
  return #key .. ':' .. key .. ':'
end

local function wait_mark(key, version)
  return wait_prefix(key) .. string.format('%016d', version)
end

-- The first mark of a key from a version on; nil: nothing of it waits.
local function first_wait(key, version)
  local till = '[' .. wait_prefix(key) .. '\255'
  return redis.call('ZRANGEBYLEX', ORDER_WAITS, '[' .. wait_mark(key, version), till, 'LIMIT', 0, 1)[1]
end

-- Marks of versions of a key before that one, at most so many.
local function passed_waits(key, version, most)
  local from, till = '[' .. wait_prefix(key), '(' .. wait_mark(key, version)
  return redis.call('ZRANGEBYLEX', ORDER_WAITS, from, till, 'LIMIT', 0, most)
end

-- It waits no more.
local function forget_wait(id)
  local key, version = string.match(id, '^(.+)#(%d+)$')
  if key and redis.call('ZREM', ORDER_WAITS, wait_mark(key, version)) == 1 and not first_wait(key, 0) then
    redis.call('ZREM', ORDER_SINCE, key)
  end
end
