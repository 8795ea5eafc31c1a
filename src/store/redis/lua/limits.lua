-- What a queue's limit leaves, read from what is there. `limit` is "RUNNING STARTS PER_MS" as jobs:limits has it, 0 for
-- not limited. Returns how many jobs may be taken now, in how many ms one may if none (-1: as soon as one that runs has
-- ended), how many run, and how many have started within the time.
--
-- jobs:running:QUEUE names the leases that were taken since the queue is limited, token → owner. Whoever ends a lease
-- need not know of limits: one that is there no more does not count, and goes from here when `tidy`.
--
-- jobs:starts:QUEUE has the moments in ms at which jobs were taken, the latest on the left.
local function roomIn(queue, limit, now, tidy)
  local call = redis.call
  local running, starts, per = string.match(limit, '^(%d+) (%d+) (%d+)$')
  running, starts, per = tonumber(running), tonumber(starts), tonumber(per)

  local taken = 0
  local leases = call('HGETALL', 'jobs:running:' .. queue)
  for i = 1, #leases, 2 do
    if call('HEXISTS', 'jobs:leases:' .. leases[i + 1], leases[i]) == 1 then
      taken = taken + 1
    elseif tidy then
      call('HDEL', 'jobs:running:' .. queue, leases[i])
    end
  end

  -- How many moments are later than where the time begins: they are in order.
  local key = 'jobs:starts:' .. queue
  local started, high = 0, starts > 0 and call('LLEN', key) or 0
  while started < high do
    local middle = math.floor((started + high) / 2)
    if tonumber(call('LINDEX', key, middle)) > now - per then started = middle + 1 else high = middle end
  end

  if running > 0 and taken >= running then return 0, -1, taken, started end
  if starts > 0 and started >= starts then
    return 0, call('LINDEX', key, starts - 1) + per - now, taken, started
  end
  local room = math.min(running > 0 and running - taken or 1e9, starts > 0 and starts - started or 1e9)
  return room, 0, taken, started
end

-- Notes leases of a limited queue: `leases` has token and payload in turns.
local function noteTaken(queue, limit, now, owner, leases)
  local call = redis.call
  local running, starts, per = string.match(limit, '^(%d+) (%d+) (%d+)$')
  local owners, moments = {}, {}
  for i = 1, #leases, 2 do
    owners[i], owners[i + 1] = leases[i], owner
    moments[#moments + 1] = string.format('%.0f', now)
  end
  if running ~= '0' then call('HSET', 'jobs:running:' .. queue, unpack(owners)) end
  if starts ~= '0' then
    local key = 'jobs:starts:' .. queue
    call('LPUSH', key, unpack(moments))
    call('LTRIM', key, 0, starts - 1)
    call('PEXPIRE', key, per)
  end
end
