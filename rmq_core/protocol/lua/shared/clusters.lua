-- Dead letters by what they died of: how many, since when, until when, and what the first of them said.
-- `cause` holds the cluster each dead letter is counted in. It leaves with the dead letter, whatever becomes of the
-- failure record meanwhile: a later message of the same id may fail of something else.
local UNKNOWN, enter_cluster, leave_clusters

do
  UNKNOWN = '0000000000000000'
  local OTHER = 'ffffffffffffffff'
  local CLUSTERS_MOST = 256
  local tallies, founded = {}, 0

  local function tally(cluster, n)
    local entry = tallies[cluster]
    if not entry then
      entry = {n = 0}
      tallies[cluster] = entry
    end
    entry.n = entry.n + n
    return entry
  end

  -- Of a failure record or fragment, what tells a person what it is; inside JSON's strings no quote follows a comma.
  local function example(fragment)
    local first = string.find(fragment, '"error":"', 1, true)
    local last = string.find(fragment, ',"worker":"', first or 1, true)
    return first and last and '{' .. string.sub(fragment, first, last - 1) .. '}' or '{}'
  end

  -- For a dead letter that is in `dead` now and was not before.
  function enter_cluster(id, cluster, died_ms, fragment)
    if not tallies[cluster] and redis.call('HEXISTS', CLUSTERS, cluster) == 0 then
      if redis.call('HLEN', CLUSTERS) + founded >= CLUSTERS_MOST then
        cluster = OTHER
      else
        founded = founded + 1
      end
    end
    local entry = tally(cluster, 1)
    entry.fragment = entry.fragment or fragment
    entry.first = math.min(entry.first or died_ms, died_ms)
    entry.last = math.max(entry.last or died_ms, died_ms)
    redis.call('HSET', CAUSE, id, cluster)
  end

  -- For dead letters that are in `dead` no more. Returns the cluster of each, false where none was noted.
  function leave_clusters(ids)
    if #ids == 0 then
      return {}
    end
    local causes = redis.call('HMGET', CAUSE, unpack(ids))
    for i = 1, #ids do
      if causes[i] then
        tally(causes[i], -1)
      end
    end
    redis.call('HDEL', CAUSE, unpack(ids))
    return causes
  end

  at_the_end = function()
    for cluster, entry in pairs(tallies) do
      local stored = redis.call('HGET', CLUSTERS, cluster)
      local n, first, last, sample = string.match(stored or '', '^(%d+) (%d+) (%d+) (.*)$')
      n = (tonumber(n) or 0) + entry.n
      if n <= 0 then
        redis.call('HDEL', CLUSTERS, cluster)
      else
        first = math.min(tonumber(first) or entry.first, entry.first or tonumber(first))
        last = math.max(tonumber(last) or entry.last, entry.last or tonumber(last))
        sample = sample or example(entry.fragment or '')
        redis.call('HSET', CLUSTERS, cluster, string.format('%d %.0f %.0f ', n, first, last) .. sample)
      end
    end
    -- An older release may have removed dead letters without counting them; an empty queue is where the ledger can be closed.
    if next(tallies) and redis.call('EXISTS', DEAD) == 0 then
      redis.call('DEL', CAUSE, CLUSTERS)
    end
  end
end
