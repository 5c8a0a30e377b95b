-- ARGV[1..11]: what the topic says about failing, and who is asking.
local TIMED = ARGV[1] ~= 'priority'
local MAX_RETRIES = tonumber(ARGV[2])
local TIMEOUT_MS = tonumber(ARGV[3])
local BACKOFF_MS = tonumber(ARGV[4])
local BACKOFF_MAX_MS = tonumber(ARGV[5])
local EPOCH = ARGV[6]
local SHAPE = ARGV[7]
-- How long versions that were handed out are remembered; 0: the topic does not ask for it.
local VERSIONS_FOR = tonumber(ARGV[9])
-- Whether the next of a slot basis waits for one that failed.
local WAITS = ARGV[10] == 'wait'
-- Where versions of a key are handed out in their order: the first one (0: whichever comes first), and how long a missing
-- one is waited for (ms; 0: until somebody goes on without it). shared/order.lua puts its functions here. nil: they are not.
local ORDER
if ARGV[11] ~= '' then
  local first, skip_after = string.match(ARGV[11], '^(%d+) (%d+)$')
  ORDER = first and {first = tonumber(first), skip_after = tonumber(skip_after)}
end
-- Or: so many of a slot basis may be in flight at once, see shared/key_limit.lua. nil: any number.
limits.of_a_key = not ORDER and tonumber(ARGV[11]) or nil
-- Whether this call may list holds where there were none: also of tenants who are held, see shared/tenant_limits.lua.
local LISTS_HOLDS = WAITS or ORDER ~= nil or limits.of_a_key ~= nil or string.find(marks[4] or '', ',h', 1, true) ~= nil
local POLICY = 11
if ARGV[8] ~= '' then
  changed_by = ARGV[8]
  member = GROUP and string.match(changed_by, ' (.*)$') or ''
end

-- The reply to an owner that is no longer the owner, or to whoever knows another life of the topic; nil lets it go on.
local function fenced()
  local unfit = misfit(SHAPE)
  if unfit then
    return unfit
  end
  local fence = redis.call('GET', FENCE) or ''
  if fence ~= EPOCH then
    return redis.error_reply('RMQFENCED ' .. (fence == '' and 'none' or fence))
  end
  return nil
end

-- Mirrors scores.retries_left and scores.failures_of; a lowered max_retries leaves at least one, and a score that
-- somebody has written by hand no more than a receipt has room for.
local function retries_left(failures)
  return math.max(1, MAX_RETRIES - failures + 1)
end

local function failures_of(score)
  if score > RETRIED_MAX then
    return 0
  end
  return math.max(1, math.min(SHIFT - 1, MAX_RETRIES - score + 1))
end
