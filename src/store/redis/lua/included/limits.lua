-- Included: limits of queues.

-- Parses a limit of jobs:limits: "RUNNING STARTS PER_MS", 0 for unlimited, and " g" for a queue with groups. Returns nil for
-- any other text: a value that another program wrote must not stop the queue, nor those taken with it.
local function limitIn(text)
  local running, starts, per = string.match(text or '', '^(%d+) (%d+) (%d+) ?g?$')
  running, starts, per = tonumber(running), tonumber(starts), tonumber(per)
  if not running or running > 10000 or starts > 10000 or per > 2592000000 then return nil end
  if per == 0 then starts = 0 end
  return (running > 0 or starts > 0) and { running = running, starts = starts, per = per } or nil
end

-- Returns the limit of each queue, and whether it has groups, by the index in `names`.
local function limitsOf(names)
  local limits, grouped = {}, {}
  -- Lua limits the number of arguments of a call.
  for from = 1, #names, 1000 do
    local texts = redis.call('HMGET', 'jobs:limits', unpack(names, from, math.min(from + 999, #names)))
    for i, text in ipairs(texts) do
      if text then
        limits[from + i - 1] = limitIn(text)
        grouped[from + i - 1] = string.sub(text, -2) == ' g'
      end
    end
  end
  return limits, grouped
end

-- Sets the moments of a list that are in the future to now.
local function capMoments(key, now)
  local call = redis.call
  local late = 0
  for _, moment in ipairs(call('LRANGE', key, 0, -1)) do
    if (tonumber(moment) or 0) <= now then break end
    late = late + 1
  end
  local ttl = call('PTTL', key)
  call('LTRIM', key, late, -1)
  local moments = {}
  for i = 1, math.min(late, 1000) do moments[i] = string.format('%.0f', now) end
  for from = 1, late, 1000 do call('LPUSH', key, unpack(moments, 1, math.min(1000, late - from + 1))) end
  if ttl > 0 then call('PEXPIRE', key, ttl) end
end

-- Computes what a queue's limit leaves. Returns how many jobs may be taken now, ms until one may be taken if none (-1: as soon
-- as a running job ends), how many jobs run, and how many have started within the time.
--
-- jobs:running:QUEUE has the leases taken since the queue is limited, token → worker ID. settle.lua removes them. Other scripts
-- that end leases needn't do that: a lease that no longer exists doesn't count, and `tidy` removes it. Of more than 500
-- leases a random 500 are checked: ended ones are found over time.
--
-- jobs:starts:QUEUE has the moments in ms at which jobs were taken, the latest on the left. Moments in the future mean that
-- the clock was set back. They would block the queue until the clock is there again. With `tidy` they are replaced by now.
-- Otherwise they don't count, so that a worker tries to take.
local function roomIn(queue, limit, now, tidy)
  local call = redis.call
  local running, starts, per = limit.running, limit.starts, limit.per

  local index = 'jobs:running:' .. queue
  local taken = call('HLEN', index)
  local leases = taken > 500 and call('HRANDFIELD', index, 500, 'WITHVALUES') or call('HGETALL', index)
  for i = 1, #leases, 2 do
    if call('HEXISTS', 'jobs:leases:' .. leases[i + 1], leases[i]) == 0 then
      taken = taken - 1
      if tidy then call('HDEL', index, leases[i]) end
    end
  end

  -- Count the moments within the time by binary search: they are in order.
  local key = 'jobs:starts:' .. queue
  local started, high = 0, starts > 0 and call('LLEN', key) or 0
  if high > 0 and (tonumber(call('LINDEX', key, 0)) or 0) > now then
    if tidy then capMoments(key, now) else high = 0 end
  end
  while started < high do
    local middle = math.floor((started + high) / 2)
    if (tonumber(call('LINDEX', key, middle)) or 0) > now - per then started = middle + 1 else high = middle end
  end

  if running > 0 and taken >= running then return 0, -1, taken, started end
  if starts > 0 and started >= starts then
    return 0, (tonumber(call('LINDEX', key, starts - 1)) or 0) + per - now, taken, started
  end
  local room = math.min(running > 0 and running - taken or 1e9, starts > 0 and starts - started or 1e9)
  return room, 0, taken, started
end

-- Notes leases of a limited queue. `leases` is token, payload, token, payload …
local function noteTaken(queue, limit, now, worker, leases)
  local call = redis.call
  local running, moments = {}, {}
  for i = 1, #leases, 2 do
    running[i], running[i + 1] = leases[i], worker
    moments[#moments + 1] = string.format('%.0f', now)
  end
  if limit.running > 0 then call('HSET', 'jobs:running:' .. queue, unpack(running)) end
  if limit.starts > 0 then
    local key = 'jobs:starts:' .. queue
    call('LPUSH', key, unpack(moments))
    call('LTRIM', key, 0, limit.starts - 1)
    call('PEXPIRE', key, limit.per)
  end
end
