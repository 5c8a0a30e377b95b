-- How many messages a slot holds, whatever the kind of its topic. Needs shared/keys.lua.
local function held_in_all()
  local held = 0
  for _, queue in ipairs({STORE, RETRY, PREPARE, DEAD}) do
    local of = redis.call('TYPE', queue).ok
    if of ~= 'none' then
      held = held + redis.call(of == 'stream' and 'XLEN' or 'ZCARD', queue)
    end
  end
  return held
end
