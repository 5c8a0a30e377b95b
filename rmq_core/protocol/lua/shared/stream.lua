-- What the scripts of a stream topic's slot begin with: its keys, the clock, its counters, its journal.
-- The sender's memory is given by those that add.
local STORE, STATS, JOURNAL, POSITIONS, SENDER = unpack(KEYS)
local ENTRIES -- of a group, see shared/keys.lua
local now, micros
-- include shared/clock.lua
-- include shared/counting.lua
-- include shared/journal.lua
