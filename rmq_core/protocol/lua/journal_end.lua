-- The id of the last entry a journal ever had, '0-0' before the first; reads only.
-- KEYS   the journal
-- reply  the id
-- include shared/last_id.lua
return last_id(KEYS[1])
