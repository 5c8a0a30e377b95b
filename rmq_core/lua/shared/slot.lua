-- The keys of one slot, in the order slots.QUEUE_KEYS declares them, and the clock. Sending is given the first 13.
local STORE, RETRY, PREPARE, DEAD = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local BODY, FAILED, PRIORITY = KEYS[5], KEYS[6], KEYS[7]
local STATS, JOURNAL = KEYS[8], KEYS[9]
local SPILL, REPLACED, DEAD_RECORD = KEYS[10], KEYS[11], KEYS[12]
-- Where the topic's hints lie on another node than the slot, the store stands in their places: see shared/hints.lua.
local HEADS, DUE = KEYS[13], KEYS[14]
local LATENESS, FENCE = KEYS[15], KEYS[16]
local CAUSE, CLUSTERS = KEYS[17], KEYS[18]
local TRASH, TRASHED, ALLOWANCE = KEYS[19], KEYS[20], KEYS[21]
local ORIGIN, SUSPECT = KEYS[22], KEYS[23]
local RETRIED_MAX, SHIFT = 16, 1000

local time = redis.call('TIME')
local micros = tonumber(time[2])
local now = tonumber(time[1]) * 1000 + math.floor(micros / 1000)

local counted = {}
-- What fragments have to write when all is done.
local at_the_end, write_journal

local function count(event, n)
  counted[event] = (counted[event] or 0) + n
end

-- Call once, after the last change. Whatever changes a slot counts something: the sampler relies on it.
local function write_counts()
  if at_the_end then
    at_the_end()
  end
  if write_journal then
    write_journal()
  end
  for event, n in pairs(counted) do
    if n ~= 0 then
      redis.call('HINCRBY', STATS, event, n)
    end
  end
end

-- Whole milliseconds as text: Lua's own way from number to text loses digits, and the server's is slow.
local function ms_text(ms)
  return string.format('%d', ms)
end

-- The score of the copy that waits: in retry or in store; nil where none does.
local function waiting(id)
  return redis.call('ZSCORE', RETRY, id) or redis.call('ZSCORE', STORE, id) or nil
end
