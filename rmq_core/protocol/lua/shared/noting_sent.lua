-- What the journal tells of a send. Needs shared/journaling.lua.
local function note_sent(id, score, waits, body)
  note(waits and 'merged' or 'sent', score and 'ns' or 'n-', id, score or 0, body)
end

-- `n` plain messages, all new, with the scores and ids of `scored`.
local function note_all_sent(scored, n)
  local items, sent = items_of('sent', 'ns')
  for i = 1, n * 2, 2 do
    items[i], items[i + 1] = scored[i + 1], tonumber(scored[i])
  end
  if JOURNAL_FULL then
    local bodies = {}
    for i = 1, n do
      bodies[i] = ''
    end
    sent[4] = bodies
  end
end
