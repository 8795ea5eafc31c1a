-- Included: releases a job's unique lock, if it has one.
local function unlock(jid)
  local call = redis.call
  local key = call('GET', 'jobs:unique-of:' .. jid)
  if not key then return end
  call('DEL', 'jobs:unique-of:' .. jid, 'jobs:replaceable:' .. jid)
  key = 'jobs:unique:' .. key
  if string.match(call('GET', key) or '', '^%d+ (.*)$') == jid then call('DEL', key) end
end

-- Releases the unique lock of a job that has it until it starts. Arguments may contain the same text. The searched text doesn't
-- begin with a quotation mark: payloads have many, and the search would stop at each.
local function unlockStarted(payload)
  if not string.find(payload, '_until":"start"', 1, true) then return end
  local fine, job = pcall(cjson.decode, payload)
  if fine and type(job) == 'table' and job.unique_until == 'start' and type(job.jid) == 'string' then unlock(job.jid) end
end
