-- Included after unlock.lua and end_live.lua: a job has left the store (`isGone`), or is dead. settle.lua does the same for
-- many jobs. A dead job keeps its steps: it may be retried.
local function ended(jid, isGone)
  unlock(jid)
  endLive(jid)
  if isGone then redis.call('UNLINK', 'jobs:steps:' .. jid) end
end
