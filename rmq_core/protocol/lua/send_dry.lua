-- What a send would do now: decided in the order and by the functions of send_limited.lua, and nothing is sent.
-- KEYS   the slot's keys
-- ARGV   as of send_limited.lua, with one message
-- reply  {now, outcome, place of the copy that waits ('s', 'r' retrying, 'h' held, '': none), its score, 1 where it would
--        stay there, 1 where one that waited has expired, when the one in flight was taken (ms; -1: none), when the dead
--        one died (ms; -1: none), the version that is known, what was met (when it was accepted, the version handed out)}
--        outcome: new, merged, older, duplicate, outdated, full; errors as of send_pooled.lua
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/bodies.lua
-- include shared/records.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/sending.lua
-- include shared/merging.lua
-- include shared/turns.lua
-- include shared/remembering.lua
local VERSIONS_FOR = tonumber(ARGV[9])
-- include shared/versions.lua

local value, id, body, period, mark = ARGV[11] + later, ARGV[12], ARGV[13], tonumber(ARGV[14]), ARGV[15]

local function at(queue, unit)
  local score = redis.call('ZSCORE', queue, id)
  return score and math.floor(tonumber(score) / unit) or -1
end

local waits, old = waiting(id), redis.call('HGET', BODY, id)
local expired = waits and has_lapsed(old)
if expired then
  waits = nil
end
-- As `enqueue` sees it.
local retry = waits and redis.call('ZSCORE', RETRY, id)
local held = retry and retry - HELD_FROM >= 0
local own = waits
if retry then
  own = held and retry % SHIFT == 0 and redis.call('HGET', PRIORITY, id)
end
local still = waits and (retry and KIND == 'range-merge' or own and stays(own, value))

local function outcome()
  local accepted_ms = period > 0 and accepted_before(mark, period)
  if accepted_ms then
    return 'duplicate', accepted_ms
  end
  local handed_out = outdone_by and outdone_by({id}, {body})[1]
  local key = ARGV[10] ~= '' and string.match(id, '^(.+)#%d+$')
  if key then
    local last, given = tonumber(redis.call('HGET', ORDER_LAST, key) or ARGV[10] - 1), version_of(body)
    handed_out = given > 0 and last >= given and last or handed_out
  end
  if handed_out then
    return 'outdated', handed_out
  elseif outdated(id, old, body, waits) then
    return 'older', 0
  end
  local version, _, limit = string.match(ARGV[8] ~= '' and redis.call('GET', QUOTA) or '', '^(%d+) (%d+) (%d+)$')
  if not waits and ARGV[8] ~= '' then
    local given = version and tonumber(version) >= tonumber(ARGV[8]) and tonumber(limit) or 0
    if given - redis.call('ZCARD', STORE) - redis.call('ZCARD', RETRY) <= 0 then
      return 'full', 0
    end
  end
  return waits and 'merged' or 'new', 0
end

local what, met = outcome()
return {
  now, what, held and 'h' or retry and 'r' or waits and 's' or '', not held and waits or own or '', still and 1 or 0,
  expired and 1 or 0, at(PREPARE, SHIFT), at(DEAD, 1), version_of(old), met,
}
