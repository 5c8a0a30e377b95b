-- The keys of one slot, in the order slots.QUEUE_KEYS declares them. Sending is given the first 13.
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

-- Of the server, see shared/clock.lua; whoever changes something reads it once.
local now, micros
