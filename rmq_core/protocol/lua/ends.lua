-- Until when messages are delivered, where they say so; reads only.
-- KEYS   the slot's keys
-- ARGV   of which copy: 'waiting', 'dead' or 'trash', then ids
-- reply  per id: ms; 0: always, or it is not there, or (trash) it comes back as a dead letter
-- include shared/slot.lua
-- include shared/records.lua

local function body_of(id)
  if ARGV[1] == 'waiting' then
    return redis.call('HGET', BODY, id)
  end
  local trash = ARGV[1] == 'trash'
  local packed = redis.call('HGET', trash and TRASHED or DEAD_RECORD, id)
  local record = packed and unpack_record(packed)
  return record and not (trash and record.queue == 'd') and record.body
end

local ends = {}
for i = 2, #ARGV do
  local last_ms = string.match(body_of(ARGV[i]) or '', '^\3e(%d+)')
  ends[#ends + 1] = tonumber(last_ms) or 0
end
return ends
