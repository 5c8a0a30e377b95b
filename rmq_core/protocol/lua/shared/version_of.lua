-- The version of a body, whose first byte may tell its format (`bodies.decode_body`).
local function version_of(body)
  return body and tonumber(string.match(body, '^\1?(%d+) ') or string.match(body, '^\3%S+ (%d+) ')) or 0
end
