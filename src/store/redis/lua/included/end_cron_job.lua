-- Included: ends the live job of a cron entry, because the job has left the store or is dead.
local function endCronJob(jid)
  local call = redis.call
  local name = call('HGET', 'jobs:cron:live', jid)
  if not name then return end
  call('HDEL', 'jobs:cron:live', jid)
  local entry = 'jobs:cron:entry:' .. name
  call('HDEL', entry, 'live')
  call('HSET', entry, 'version', call('INCR', 'jobs:cron:version'))
  if call('HDEL', entry, 'awaited') == 1 then
    call('INCR', 'jobs:cron:changes')
    -- The user may lack the permission to publish: schedulers then see the change some seconds later.
    redis.pcall('PUBLISH', 'jobs:wake', 'cron')
  end
end
