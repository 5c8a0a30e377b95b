-- ARGV[1..7] of all sends: whether they are refused, and what of them is news. Statements, not functions: a send of one
-- message is mostly what it takes to begin.
local KIND, CHANNEL, SLOT, MERGE = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local EDGE, LATEST = tonumber(ARGV[6]), MERGE ~= 'first'

-- Without a mark it has lost all it had, or nobody has marked it yet: whoever sends reads the definition again, marks it
-- and switches its journal on, see shape_set.lua.
if marks[2] ~= ARGV[5] and marks[2] ~= HELD_FORMAT .. ARGV[5] then
  return redis.error_reply('RMQSHAPE ' .. (marks[2] or 'none'))
elseif KIND == 'fixed-time' and ARGV[7] == '0' and EDGE <= now - PRESENT_MS then
  return redis.error_reply(string.format('RMQPAST %.0f', now - EDGE))
elseif JOURNALING then
  local limit, held = tonumber(string.match(MARK, '(%d+)$')), redis.call('XLEN', JOURNAL)
  if limit > 0 and held >= limit then
    return redis.error_reply(string.format('RMQJOURNAL %d', held))
  end
end

-- What a sleeping consumer would have to know: the highest priority of the batch where nothing as high waited, or its
-- earliest due time where nothing that is still to come was due before; nil: nothing new. Messages that are due already
-- do not matter: whoever can take them is awake, and those that wait for their own earlier delivery must not hide a
-- newcomer.
-- Counting tells it without a score's way into text and back.
local head
-- What is added to due times that count from now.
local later = ARGV[7] == '+' and now or 0
-- Most slots hold nothing but what waits in store.
local more = redis.call('EXISTS', RETRY, BODY, PREPARE) > 0
if KIND == 'priority' then
  if redis.call('ZCOUNT', STORE, string.format('(%d', EDGE - 1), '+inf') == 0
    or more and redis.call('ZCARD', STORE) <= redis.call('ZCARD', PREPARE) then
    head = EDGE
  end
else
  local due = (KIND == 'range-merge' and now or later) + EDGE
  if redis.call('ZCOUNT', STORE, string.format('%d', now + 1), string.format('%d', due)) == 0 then
    head = due
  end
end
