-- Included after job.lua: finds members of cancelled batches among the jobs of a take. Only reads, and never fails.

-- Returns whether a payload's job belongs to a cancelled batch. known: batch -> whether it is cancelled, kept during a script. A
-- payload is decoded only if it contains the ID of a cancelled batch, perhaps as an argument.
local function isInCancelled(payload, known)
  local at = string.find(payload, 'batch"', 1, true)
  while at do
    local id = string.match(payload, '^%s*:%s*"([^"\\]+)"', at + 6)
    if id then
      if known[id] == nil then known[id] = redis.pcall('HGET', 'jobs:batch:' .. id, 'closed_as') == 'cancelled' end
      if known[id] then
        local job = jobWith(payload, 'batch"')
        if job and job.batch == id then return true end
      end
    end
    at = string.find(payload, 'batch"', at + 6, true)
  end
  return false
end
