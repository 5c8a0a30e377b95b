-- What a consumer group has beside a queue: a place in the stream, and unfinished entries that only the stream holds. For
-- queues that are none, nothing of it is there. Needs shared/keys.lua, shared/clock.lua, shared/counting.lua.
local GROUP, own_position, finished, entry_of, entry_body, entry_place, is_before
-- The member that makes this change ('': none that gave a name), and how many failures it reports.
local member, nacked = '', 0
local position, position_moved
-- What an entry's time is moved by in its score, above what counts retries, see scores.py.
local ENTRY_PLACE = 32

if ENTRIES then
-- include shared/written.lua
-- include shared/positions.lua
  local SEQS_TOLD_APART = 4096
-- include shared/members.lua
  GROUP, is_before = string.match(STATS, '^stats@([^{]+)'), before

  -- nil: the group is not there (any more).
  function own_position()
    if not position then
      local text = redis.call('HGET', POSITIONS, GROUP)
      position = text and read_position(text)
    end
    return position
  end

  -- Entries that will not be read from the stream again: trimming need not wait for them.
  function finished(ids)
    if #ids > 0 and redis.call('ZREM', OPEN, unpack(ids)) > 0 then
      position_moved = true
    end
  end

  function write_position()
    write_member()
    if position_moved and own_position() then
      local first = redis.call('ZRANGE', OPEN, 0, 0, 'WITHSCORES')
      if first[1] and not is_before(position.cursor, first[1]) then
        position.first, position.first_number = first[1], math.floor(tonumber(first[2]))
      else -- behind a position that was set back everything is needed, whether it is open or not
        position.first, position.first_number = position.cursor, position.number + 1
      end
      redis.call('HSET', POSITIONS, GROUP, position_text(position))
    end
  end

  -- What the stream holds under an id: name, value, …; nil: nothing (any more), or it is none that an entry can have.
  function entry_of(id)
    local found = string.match(id, '^%d+%-%d+$') and redis.pcall('XRANGE', ENTRIES, id, id)
    return found and found[1] and found[1][2]
  end

  -- The same as the body of a message.
  function entry_body(id)
    local entry = entry_of(id)
    return entry and written(entry)
  end

  -- The score in store of an entry that came back uncounted: entries are in the order of their ids.
  function entry_place(id)
    local ms, seq = string.match(id, '^(%d+)-(%d+)$')
    return ENTRY_PLACE + tonumber(ms) + math.min(tonumber(seq), SEQS_TOLD_APART - 1) / SEQS_TOLD_APART
  end
end
