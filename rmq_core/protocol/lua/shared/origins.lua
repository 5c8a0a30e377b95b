-- What was taken together: several messages of one process, of which each may be the one that kills it. `origin` holds
-- when (ms) → {id, store score, …}, so that what comes back uncounted comes back to its place. What was taken alone has
-- no origin. `suspect` holds the ids that were in flight when such a process died: they are handed out alone.
-- Of a group the list also says who took: '' and a name, for what stands behind them; what was taken alone is in it
-- then, too, with '' for its score.
local origin_of, holder_of, note_origins, forget_origins, clear_suspects

do
  local ORIGINS_MOST, LOOKED_AT = 16, 2

  local function pack_origins(list)
    if cmsgpack then
      return cmsgpack.pack(list)
    end
    local parts = {}
    for i = 1, #list do
      local text = type(list[i]) == 'number' and string.format('%.17g', list[i]) or list[i]
      parts[i] = #text .. ':' .. text
    end
    return table.concat(parts) .. ';'
  end

  local function unpack_origins(text)
    if cmsgpack then
      return {cmsgpack.unpack(text)}
    end
    local lists, list, at = {}, {}, 1
    while at <= #text do
      if string.sub(text, at, at) == ';' then
        lists[#lists + 1], list, at = list, {}, at + 1
      else
        local length, from = string.match(text, '^(%d+):()', at)
        list[#list + 1] = string.sub(text, from, from + length - 1)
        at = from + length
      end
    end
    return lists
  end

  local known_origins, whole = {}, false

  -- Reads what one moment's takes brought: id → {the score in store (nil: taken alone), the times that its receipt may
  -- tell, by whom (nil: not said)}.
  local function read_origins(ms, text)
    local found = {}
    for _, list in ipairs(unpack_origins(text)) do
      local apart, holder = 0, nil
      for i = 1, #list, 2 do
        if GROUP and list[i] == '' then
          holder = list[i + 1]
        else
          -- An owner's receipts are a millisecond apart, see shared/take.lua.
          found[list[i]] = {tonumber(list[i + 1]), ms, ms + apart, holder}
          apart = apart + 1
        end
      end
    end
    known_origins[ms] = found
  end

  local function read_all_origins()
    if not whole then
      whole = true
      local all = redis.call('HGETALL', ORIGIN)
      for i = 1, #all, 2 do
        read_origins(tonumber(all[i]), all[i + 1])
      end
    end
  end

  -- What is known of the take that brought a delivery; nil: nothing.
  local function take_of(id, receipt)
    local ms = math.floor(receipt / SHIFT)
    if known_origins[ms] == nil and not whole then
      local text = redis.call('HGET', ORIGIN, ms_text(ms))
      if text then
        read_origins(ms, text)
      end
    end
    local found = known_origins[ms] and known_origins[ms][id]
    if found then
      return found
    end
    if redis.call('EXISTS', FENCE) == 0 then
      return nil -- only an owner's receipts tell other moments than that of the take
    end
    read_all_origins()
    for _, batch in pairs(known_origins) do
      local each = batch[id]
      if each and each[3] == ms then
        return each
      end
    end
    return nil
  end

  -- The store score of a delivery that was taken together with others; nil: it was taken alone.
  function origin_of(id, receipt)
    local found = take_of(id, receipt)
    return found and found[1]
  end

  -- The member that has a delivery; '': one that gave no name.
  function holder_of(id, receipt)
    local found = take_of(id, receipt)
    return found and found[4] or ''
  end

  -- Whether anything of those takes is still in flight as it was then.
  local function still_in_flight(ms)
    if redis.call('ZCOUNT', PREPARE, ms_text(ms * SHIFT), ms_text(ms * SHIFT + SHIFT - 1)) > 0 then
      return true
    elseif redis.call('EXISTS', FENCE) == 0 then
      return false -- only an owner's receipts tell other moments than that of the take
    end
    for _, list in ipairs(unpack_origins(redis.call('HGET', ORIGIN, ms_text(ms)))) do
      local ids = {}
      for i = 1, #list, 2 do
        ids[#ids + 1] = list[i]
      end
      for i, score in ipairs(redis.call('ZMSCORE', PREPARE, unpack(ids))) do
        local taken_ms = score and math.floor(tonumber(score) / SHIFT)
        if taken_ms and taken_ms >= ms and taken_ms < ms + i then
          return true
        end
      end
    end
    return false
  end

  -- While something stays in flight, each take looks at a few of those before: more go than come.
  local function forget_some_origins()
    for _, field in ipairs(redis.call('HRANDFIELD', ORIGIN, LOOKED_AT)) do
      if not still_in_flight(tonumber(field)) then
        redis.call('HDEL', ORIGIN, field)
      end
    end
  end

  -- `in_flight`: how many were in flight before.
  function note_origins(ms, list, in_flight)
    local field, packed = ms_text(ms), pack_origins(list)
    if in_flight == 0 then
      redis.call('DEL', ORIGIN)
    elseif redis.call('HLEN', ORIGIN) >= ORIGINS_MOST then
      forget_some_origins()
    end
    if redis.call('HSETNX', ORIGIN, field, packed) == 0 then
      redis.call('HSET', ORIGIN, field, redis.call('HGET', ORIGIN, field) .. packed)
    end
  end

  -- Call when deliveries have ended.
  function forget_origins()
    if redis.call('EXISTS', PREPARE) == 0 then
      redis.call('DEL', ORIGIN)
    end
  end

  function clear_suspects(ids)
    if #ids > 0 and redis.call('EXISTS', SUSPECT) == 1 then
      redis.call('HDEL', SUSPECT, unpack(ids))
    end
  end
end
