-- Included after unlock.lua, end_cron_job.lua and steps.lua: releases the lock, the cron entry and the steps of a job, because it has left
-- the store (`isGone`) or is dead.
-- settle.lua does the same for many jobs. A dead job keeps its steps: it may be retried.
local function endJob(jid, isGone)
  apart(unlock, jid)
  apart(endCronJob, jid)
  if not isGone then return apart(leaveAllWaiting, jid) end
  local steps = 'jobs:steps:' .. jid
  local names = redis.pcall('HKEYS', steps)
  if names.err or #names == 0 then return end
  forgetWaits(steps, names)
  redis.call('UNLINK', steps)
end
