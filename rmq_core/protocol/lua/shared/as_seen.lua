-- Of dead letters that are named one by one: whether each is the one that was meant, or has died since that was seen.

-- `given`: when each died, with commas between ('': whenever that was).
local function deaths_seen(given)
  local seen = {}
  for died_ms in string.gmatch(given .. ',', '([^,]*),') do
    seen[#seen + 1] = tonumber(died_ms) or false
  end
  return function(number, died_ms)
    return not seen[number] or seen[number] == tonumber(died_ms)
  end
end
