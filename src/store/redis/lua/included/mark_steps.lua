-- Included: marks the payload at the first step of a job, so that the end of the job deletes its steps.
local function markSteps(leases, token, steps)
  local call = redis.call
  if call('EXISTS', steps) == 1 then return end
  local payload = call('HGET', leases, token)
  local members = string.match(payload, '^(.*)}%s*$')
  if not members or string.find(members, ',"has_steps":true$') then return end
  call('HSET', leases, token, members .. ',"has_steps":true}')
end
