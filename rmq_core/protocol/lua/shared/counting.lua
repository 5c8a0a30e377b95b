-- What a call counts, and what is done at its end. Needs shared/keys.lua.
local counted = {}
-- What fragments have to write when all is done.
local at_the_end, write_journal, write_position
-- Of tenants who take turns: shared/lanes.lua and shared/tenant_limits.lua put their functions here. One table, for a script
-- may have 200 locals at most.
local limits = {}

local function count(event, n)
  counted[event] = (counted[event] or 0) + n
end

-- Call once, after the last change. Whatever changes a slot counts something: the sampler relies on it.
local function write_counts()
  if at_the_end then
    at_the_end()
  end
  if write_position then
    write_position()
  end
  if limits.recount and (counted.acked or counted.released or counted.died or counted.retried or counted.expired) then
    limits.recount()
  end
  if write_journal then
    write_journal()
  end
  for event, n in pairs(counted) do
    if n ~= 0 then
      redis.call('HINCRBY', STATS, event, n)
    end
  end
end

-- Whole milliseconds as text: Lua's own way from number to text loses digits, and the server's is slow.
local function ms_text(ms)
  return string.format('%d', ms)
end

-- The score of the copy that waits: in retry or in store; nil where none does.
local function waiting(id)
  return redis.call('ZSCORE', RETRY, id) or redis.call('ZSCORE', STORE, id) or nil
end
