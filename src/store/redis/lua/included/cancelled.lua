-- Included after job.lua: finds members of cancelled batches among the jobs of a take. Only reads, and never fails.

-- Returns whether a payload's job belongs to a cancelled batch. at: where 'batch"' is in it. known: batch -> whether it is cancelled,
-- kept during a script. A payload is decoded only if it contains the ID of a cancelled batch, perhaps as an argument.
local function isInCancelled(payload, at, known)
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

-- Returns the numbers of the leases of a take whose batch was cancelled. again: token, payload …; result: from `first` on, the
-- payloads of a queue, its name.
local function cancelledIn(again, result, first)
  local find, known, cancelled = string.find, {}, {}
  local number = 0
  for i = 2, #again, 2 do
    number = number + 1
    local at = find(again[i], 'batch"', 1, true)
    if at and isInCancelled(again[i], at, known) then cancelled[#cancelled + 1] = number end
  end
  for i = first, #result do
    local jobs = result[i]
    for k = 1, #jobs - 1 do
      local at = find(jobs[k], 'batch"', 1, true)
      if at and isInCancelled(jobs[k], at, known) then cancelled[#cancelled + 1] = number + k end
    end
    number = number + #jobs - 1
  end
  return cancelled
end
