-- Wakes who sleeps, and corrects the topic's hint for those who pull; needs shared/sending.lua. `noted`: what the client
-- is to note elsewhere; false: nothing.
local noted = false
if head then
  local text = string.format('%d', head)
  if HEADS ~= STORE then
    redis.call('ZADD', HEADS, KIND == 'priority' and 'GT' or 'LT', head, SLOT)
  else
    noted = text
  end
  redis.call('PUBLISH', CHANNEL, SLOT .. ' ' .. text)
end
