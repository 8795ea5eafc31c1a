-- Included after job.lua and steps.lua: fails the step of another job that waits for the end of this one, because an operator has
-- ended it.
local function failParentOf(now, payload, how)
  local job = jobWith(payload, 'parent"')
  local parent = job and job.parent
  if type(parent) ~= 'table' or type(parent.jid) ~= 'string' or type(parent.step) ~= 'string' then return end
  local error = '{"class":"' .. how .. '","message":"An operator ended the job"}'
  finishWait(now, parent.jid, parent.step, '"error":' .. error .. ',"final":true', 'failed', job.jid)
end
