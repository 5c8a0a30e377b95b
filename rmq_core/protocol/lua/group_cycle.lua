-- One turn of a consumer of a group: settle what is finished, put back what timed out, take what came back and what is new.
-- KEYS   the slot's keys of the group
-- ARGV   as of cycle.lua; in the place of the least priority stands whether entries behind one that failed wait for it
--        (waits|''), and behind how many are given back until when nothing is taken (ms), and the most bytes to take.
--        How (several|alone|unsettled|unsettled_alone): `unsettled` is of a group whose new entries nobody settles
-- reply  as of cycle.lua, where the third and fourth are of entries that came back, whose bodies may be names and values;
--        and behind it the new ones: {id, content or {name, value, …}, …}
-- include shared/slot.lua
-- inner function
-- include shared/journal.lua
-- include shared/policy.lua
-- include shared/bodies.lua
-- include shared/records.lua
-- include shared/origins.lua
-- include shared/timed_places.lua
-- include shared/priority_places.lua
-- include shared/trash.lua
-- include shared/clusters.lua
-- include shared/returning.lua
-- include shared/failing.lua
-- include shared/settle.lua
-- include shared/due.lua
-- include shared/reaping.lua
-- include shared/group_take.lua
-- include shared/lanes.lua
-- include shared/hints.lua

local refused = fenced()
if refused then
  return refused
end
local REAPED_MOST = 100
local channel, slot, limit = ARGV[POLICY + 1], ARGV[POLICY + 2], tonumber(ARGV[POLICY + 3])
local how = ARGV[POLICY + 4]
local statuses = {}
local paused_until_ms = tonumber(ARGV[POLICY + 9])
local at = ack(POLICY + 11, tonumber(ARGV[POLICY + 6]), statuses)
at = nack(at, tonumber(ARGV[POLICY + 7]), statuses)
local releases = tonumber(ARGV[POLICY + 8])
release(at, releases, statuses)
local busy = roll_back(REAPED_MOST) == REAPED_MOST
local promoted, more_wait = promote(REAPED_MOST)
busy = promoted == REAPED_MOST or more_wait or busy
if now < paused_until_ms or ARGV[POLICY + 5] == 'waits' and must_wait() then
  limit = 0
end
local returned, bodies, given, suspects_next, cut = take(
  limit, how == 'alone' or how == 'unsettled_alone', how == 'unsettled' or how == 'unsettled_alone', tonumber(ARGV[POLICY + 10])
)
write_counts()
local next_due_ms = now
if not busy and not cut and (limit == 0 or (#returned + #given) / 2 < limit) then
  next_due_ms = earlier(next_due(), now < paused_until_ms and paused_until_ms or nil) or -1
end
local head = write_hints(slot, next_due_ms ~= -1 and next_due_ms or nil, next_due_or_ready())
if releases > 0 and limit == 0 then
  -- What was given back is for others to take.
  redis.call('PUBLISH', channel, head == '' and slot or slot .. ' ' .. head)
end
return {
  now, next_due_ms, statuses, returned, bodies, micros % 1000, head, (suspects_next and 1 or 0) + 4 * handed_out.ahead(),
  given,
}
