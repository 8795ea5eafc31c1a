-- Included after unlock.lua, end_cron_job.lua and steps.lua: releases the lock, the cron entry and the steps of a job, because it has left
-- the store (`isGone`) or is dead.
-- settle.lua does the same for many jobs. A dead job keeps its steps: it may be retried.
local function endJob(jid, isGone)
  unlock(jid)
  endCronJob(jid)
  if not isGone then return end
  local steps = 'jobs:steps:' .. jid
  local names = redis.call('HKEYS', steps)
  if #names == 0 then return end
  uncountWaits(steps, names)
  redis.call('UNLINK', steps)
end
