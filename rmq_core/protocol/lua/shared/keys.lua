-- The keys of one slot, in the order keys.QUEUE_KEYS declares them. Sending is given the first 13,
-- of what has a body the first 16.
local STORE, RETRY, PREPARE, DEAD, BODY, FAILED, PRIORITY,
  STATS, JOURNAL, SPILL, REPLACED, DEAD_RECORD,
  -- Where the topic's hints lie on another node than the slot, the store stands in their places: see shared/hints.lua.
  HEADS, TENANTS, LANES, TURNS, DUE, LATENESS, FENCE, CAUSE, CLUSTERS, TRASH, TRASHED, QUOTA, ORIGIN, SUSPECT,
  ONCE_A, ONCE_B, SEEN_A, SEEN_B, OWED, ORDER_LAST, ORDER_WAITS, ORDER_SINCE,
  -- Of a consumer group also what is open, the entries of its topic's slot, their counters, where each group stands,
  -- and who has taken from it.
  OPEN, ENTRIES, ENTRY_STATS, POSITIONS, MEMBERS = unpack(KEYS)
local RETRIED_MAX, SHIFT = 16, 1000
-- What a hold keeps back has a score in retry from here on: see shared/holds.lua. Slots with holds are of this format.
local HELD_FROM, HELD_FORMAT = 9007190000000000, 'f2 '
-- A due time that has gone by no longer ago than this is "now": clocks differ, and a lost answer may have to be asked
-- for again.
local PRESENT_MS = 30000

-- Of the server, see shared/clock.lua; whoever changes something reads it once.
local now, micros
