-- Holds a key: its messages are not handed out until the hold is lifted, or over. What is met by a take is set aside; of
-- a hold by id that is at once, where the message is ready.
-- KEYS   the slot's keys
-- ARGV   policy: kind, max_retries, timeout_ms, backoff_ms, backoff_max_ms, epoch (not looked at), shape, by whom
--        wake channel, slot, i(d) or b(asis), key, for how long (ms; '': until it is lifted), note, how many at most
-- reply  {1 made, 0 it was there and is as long now, since_ms, until_ms (0: until it is lifted)}
--        error RMQHOLDS <how many there are>, RMQSHAPE <shape>: nothing was done
-- include shared/slot.lua
-- include shared/journal.lua
-- include shared/policy.lua
LISTS_HOLDS = true
-- include shared/bodies.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/returning.lua
-- include shared/due.lua
-- include shared/lanes.lua
-- include shared/hints.lua

HOLDS = HOLDS or {}
local wait_behind -- nothing fails here
-- include shared/holds.lua

local unfit = misfit(SHAPE)
if unfit then
  return unfit
end
local kind, key, note_text = ARGV[POLICY + 3], ARGV[POLICY + 4], ARGV[POLICY + 6]
local wait_ms, most = tonumber(ARGV[POLICY + 5]), tonumber(ARGV[POLICY + 7])
local until_ms, known = wait_ms and now + wait_ms or 0, nil
local is_new, by_hand = false, 0
for _, hold in ipairs(HOLDS) do
  if hold.kind == kind and hold.key == key and not is_over(hold) then
    known = hold
  end
  by_hand = by_hand + ((hold.kind == 'i' or hold.kind == 'b') and 1 or 0)
end
if known then
  known.until_ms, known.note = until_ms, note_text
  write_holds(HOLDS)
else
  if by_hand >= most then
    return redis.error_reply(string.format('RMQHOLDS %d', by_hand))
  end
  known, is_new = new_hold(kind, key, wait_ms, note_text), true
end
local score = kind == 'i' and redis.call('ZSCORE', STORE, key)
if score and not (TIMED and tonumber(score) >= now + 1) and not redis.call('ZSCORE', PREPARE, key) then
  set_aside({key, score}, {known.number})
end
write_counts()
announce_change() -- who sleeps looks again when it ends
return {is_new and 1 or 0, known.since_ms, known.until_ms}
