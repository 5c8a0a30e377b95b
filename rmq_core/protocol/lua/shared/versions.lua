-- The highest version of each id that was handed out, for VERSIONS_FOR ms after that, or after it was acknowledged (0: the
-- topic remembers none, and there are no such functions): mark → version. Needs clock, counting.
local outdone_by, remember_versions, keep_versions
if VERSIONS_FOR > 0 then
-- include shared/turns.lua
-- include shared/version_of.lua
  local MARK_BYTES = 28
  local newer, older

  -- An id, or so much of its SHA-1 that no shorter id can be the same. (fakeredis has no SHA-1: the id, however long.)
  local function mark_of(id)
    return (#id < MARK_BYTES or not redis.sha1hex) and id or string.sub(redis.sha1hex(id), 1, MARK_BYTES)
  end

  -- Position → version, of those that are remembered.
  local function remembered(ids)
    if not newer then
      newer, older = memories(SEEN_A, SEEN_B)
    end
    local marks, found = {}, {}
    for i, id in ipairs(ids) do
      marks[i] = mark_of(id)
    end
    for _, memory in ipairs({newer, older}) do
      for i, version in ipairs(memory.began >= 0 and redis.call('HMGET', memory.key, unpack(marks)) or {}) do
        version = tonumber(version or nil)
        if version and version > (found[i] or 0) then
          found[i] = version
        end
      end
    end
    return found
  end

  local function write(ids, versions)
    local written = {}
    for i, id in ipairs(ids) do
      if versions[i] then
        written[#written + 1] = mark_of(id)
        written[#written + 1] = ms_text(versions[i])
      end
    end
    if #written > 0 then
      newer, older = in_turn(newer, older, VERSIONS_FOR)
      redis.call('HSET', newer.key, unpack(written))
      ends_by_itself(newer, older)
    end
  end

  -- Position → the version that was handed out, of those whose own is lower.
  function outdone_by(ids, bodies)
    local found = remembered(ids)
    for i in pairs(found) do
      if found[i] <= version_of(bodies[i]) then
        found[i] = nil
      end
    end
    return found
  end

  -- They are handed out. Call behind outdone_by; and not as the first write: a full server refuses one that adds.
  function remember_versions(ids, bodies)
    local versions = {}
    for i, body in ipairs(bodies) do
      local version = version_of(body)
      versions[i] = version > 0 and version
    end
    write(ids, versions)
  end

  -- They have just been acknowledged: their period begins anew.
  function keep_versions(ids)
    write(ids, remembered(ids))
  end
end
