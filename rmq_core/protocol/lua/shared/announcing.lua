-- Wakes who sleeps, and corrects the topic's hint for those who pull; needs shared/sending.lua. `noted`: the head
-- and the time, for the client to note elsewhere; false: nothing.
local noted = false
if head then
  local text = string.format('%d', head)
  if HEADS ~= STORE then
    redis.call('ZADD', HEADS, KIND == 'priority' and 'GT' or 'LT', head, SLOT)
  else
    local time = redis.call('TIME')
    noted = string.format('%s %d', text, time[1] * 1000 + math.floor(time[2] / 1000))
  end
  redis.call('PUBLISH', CHANNEL, SLOT .. ' ' .. text)
end
