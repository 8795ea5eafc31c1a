-- Included after groups.lua: the end of a lease without an outcome.

-- Returns a payload with the mark of a job with steps, if it has any: a worker that retries such a job, or lets it sleep, marks
-- the payload that it stores. Arguments may contain the text of another jid, and a mark too many does no harm, so that no
-- payload is parsed but those with steps.
local function markSteps(payload)
  local from, found = 1, 0
  while found < 100 do
    local _, at = string.find(payload, 'jid"', from, true)
    if not at then return payload end
    local jid = string.match(payload, '^%s*:%s*"([^"]*)"', at + 1)
    if jid and redis.call('EXISTS', 'jobs:steps:' .. jid) == 1 then break end
    from, found = at + 1, found + 1
  end
  if string.find(payload, 'has_steps"', 1, true) then
    local fine, job = pcall(cjson.decode, payload)
    if fine and type(job) == 'table' and job.has_steps then return payload end
  end
  local members = string.match(payload, '^(.*)}%s*$')
  return members and members .. ',"has_steps":true}' or payload
end

-- Returns a leased job to the front of its queue or group. Call it for the youngest of several first, so that the oldest ends
-- at the very front: the right end. Returns the payload as it is stored.
local function returnLease(token, payload)
  local name = string.match(token, ':(.*)$')
  payload = markSteps(payload)
  redis.call('RPUSH', 'queue:' .. name, payload)
  notePush(name, 1)
  if groupIn(name) then
    redis.call('HDEL', 'jobs:running:' .. name, token)
    wakeGroup(name)
  end
  return payload
end
