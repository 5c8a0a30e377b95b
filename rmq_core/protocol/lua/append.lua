-- Adds a text to the end of each of some lists.
-- KEYS   the lists
-- ARGV   how many texts a list keeps, how long it lives on (s), a text for each list, the positions (1-based) of those
--        that are to be cut and to live on
-- reply  OK
for i, key in ipairs(KEYS) do
  redis.call('RPUSH', key, ARGV[i + 2])
end
for i = #KEYS + 3, #ARGV do
  local key = KEYS[tonumber(ARGV[i])]
  redis.call('LTRIM', key, -ARGV[1], -1)
  redis.call('EXPIRE', key, ARGV[2])
end
return 'OK'
