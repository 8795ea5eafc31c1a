-- Included after unlock.lua and end_cron_job.lua: releases the lock, the cron entry and the steps of a job, because it has left
-- the store (`isGone`) or is dead.
-- settle.lua does the same for many jobs. A dead job keeps its steps: it may be retried.
local function endJob(jid, isGone)
  unlock(jid)
  endCronJob(jid)
  if not isGone then return end
  local waits = {}
  for i, name in ipairs(redis.call('HKEYS', 'jobs:steps:' .. jid)) do waits[i] = jid .. ' ' .. name end
  if #waits == 0 then return end
  for _, kind in ipairs({ 'sleep', 'wait', 'child' }) do redis.call('ZREM', 'jobs:waits:' .. kind, unpack(waits)) end
  redis.call('UNLINK', 'jobs:steps:' .. jid)
end
