-- Included: an operator has ended a job. Fails the step of another job that waits for its end.
local function failParentOf(now, payload, how)
  if not string.find(payload, '"parent":', 1, true) then return end
  local ok, job = pcall(cjson.decode, payload)
  local parent = ok and type(job) == 'table' and job.parent
  if type(parent) ~= 'table' or type(parent.jid) ~= 'string' or type(parent.step) ~= 'string' then return end
  local error = '{"class":"' .. how .. '","message":"An operator ended the job"}'
  answerStep(now, parent.jid, parent.step, '"error":' .. error .. ',"final":true', 'failed')
end
