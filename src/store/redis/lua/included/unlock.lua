-- Included after job.lua: releases a job's unique lock, if it has one.
local function unlock(jid)
  local call = redis.call
  local key = call('GET', 'jobs:unique-of:' .. jid)
  if not key then return end
  call('DEL', 'jobs:unique-of:' .. jid, 'jobs:replaceable:' .. jid)
  key = 'jobs:unique:' .. key
  if string.match(call('GET', key) or '', '^%d+ (.*)$') == jid then call('DEL', key) end
end

-- Releases the unique lock of a job that has it until it starts.
local function unlockStarted(payload)
  local job = jobWith(payload, '_until"')
  if job and job.unique_until == 'start' and type(job.jid) == 'string' then apart(unlock, job.jid) end
end
