--- part limits
-- Limits of queues.

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
-- jobs:running:QUEUE has the leases taken since the queue is limited, token → worker ID. `settle` removes them. Other scripts
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

-- Returns some of the held groups of a queue with moments in the future: the clock was set back, and the times at which groups are
-- due are too late. The groups that are due last are checked. Less than a second doesn't count.
local function earlyStarts(queue, now)
  local early = {}
  for _, group in ipairs(redis.call('ZRANGE', 'jobs:groups:due:' .. queue, '+inf', '(' .. now, 'BYSCORE', 'REV', 'LIMIT', 0, 5)) do
    -- A key of another type has no moments.
    local moment = redis.pcall('LINDEX', 'jobs:starts:' .. queue .. '|' .. group, 0)
    if type(moment) == 'string' and (tonumber(moment) or 0) > now + 1000 then early[#early + 1] = group end
  end
  return early
end

--- part groupLimits: limits asides
-- Limits of groups.

-- The jobs of a priority are stored as a group without a limit: see src/job/priority.ts.
local HIGH, HEAD_START = '|high', 1
local PRIORITIES = { [HIGH] = 10, ['|low'] = 0.1 }

-- Returns the limit of a group: its separate one until that ends, else the limit of each group; nil if the queue has none. A group
-- with just a separate weight shares the limit of each group.
local function groupLimitOf(queue, group, now)
  if isAside(group) then return nil end
  if PRIORITIES[group] then
    return { running = 0, starts = 0, per = 0, till = 0, isOwn = false, weight = PRIORITIES[group] }
  end
  local found
  local weight = 0
  for i, text in ipairs(redis.call('HMGET', 'jobs:groups:limits:' .. queue, group, '')) do
    local running, starts, per, own, till = string.match(text or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
    if running and (till == '0' or tonumber(till) > now) then
      if not found then
        found = { till = tonumber(till), isOwn = i == 1 and group ~= '' }
      elseif found.isOwn and found.running == 0 and found.starts == 0 then
        found.sharesLimit = true
      end
      if not found.running or found.sharesLimit then
        found.running, found.starts, found.per = tonumber(running), tonumber(starts), tonumber(per)
      end
      if weight == 0 then weight = tonumber(own) end
    end
  end
  if not found then return nil end
  found.weight = math.max(1, weight)
  return found
end

-- Computes what the limit of a group leaves: how many jobs may be taken now, ms until one may if none (-1: when one ends).
local function groupRoomIn(name, limit, now, tidy)
  local room, opens, running, started = roomIn(name, limit, now, tidy)
  if room == 0 and limit.till > 0 and (opens < 0 or limit.till - now < opens) then opens = limit.till - now end
  return room, opens, running, started
end

--- script limitQueue(; queue, running, starts, per) allow-oom: groups
-- Limits a queue, or removes its limit. Jobs that run now count at once.
--
-- running, starts, per  in ms; 0 for unlimited
-- Result   1
-- O(N) for N leases of all workers

local call = redis.call
-- Read before anything is written: a key may have the wrong type.
local leases = {}
for _, worker in ipairs(running == '0' and {} or call('ZRANGE', 'jobs:workers', 0, -1)) do
  for _, token in ipairs(call('HKEYS', 'jobs:leases:' .. worker)) do
    local name = string.match(token, ':(.*)$') or ''
    if (groupIn(name) or name) == queue then leases[#leases + 1] = { token, worker } end
  end
end
local isGrouped = string.sub(call('HGET', 'jobs:limits', queue) or '', -1) == 'g'
if running == '0' and starts == '0' then
  call('HDEL', 'jobs:limits', queue)
else
  call('HSET', 'jobs:limits', queue, running .. ' ' .. starts .. ' ' .. per)
end
if isGrouped then markGrouped(queue) end
call('DEL', 'jobs:running:' .. queue)
if starts == '0' then call('DEL', 'jobs:starts:' .. queue) else call('PEXPIRE', 'jobs:starts:' .. queue, per) end
for _, lease in ipairs(leases) do call('HSET', 'jobs:running:' .. queue, unpack(lease)) end
return 1

--- script limitGroup(; verb, now, queue, group, running, starts, per, weight, ttl) allow-oom: groups
-- Limits a group of a queue, or each group without a separate limit. Runs twice, with `countLeases` in between: "begin"
-- makes `take` count the leases of groups, "set" applies the limit, or removes it. A value that isn't a limit marks "begin".
-- If the process dies in between, leases are counted until the next call. No limit is exceeded.
--
-- verb     "begin" or "set"
-- group    "" for each
-- running, starts, per (ms), weight  0 for none
-- ttl      ms until the limit ends, 0: until it is changed
-- Result   1 if leases of groups are counted, else 0
-- O(1)

local call = redis.call
local key = 'jobs:groups:limits:' .. queue

-- Fail on a key of the wrong type before anything is written.
call('HLEN', 'jobs:limits')
if running == '0' and starts == '0' and weight == '0' then
  if verb == 'set' then call('HDEL', key, group) end
elseif verb == 'begin' then
  call('HSETNX', key, group, 'counting')
  markGrouped(queue)
else
  local till = ttl == '0' and '0' or string.format('%.0f', now + ttl)
  call('HSET', key, group, table.concat({ running, starts, per, weight, till }, ' '))
  markGrouped(queue)
end
return call('EXISTS', key)

--- script readBlockedQueues(; now, classes, names[]) no-writes: limits pauses asides asideRoom
-- Reads which queues can give no jobs now because they are paused or at their limit.
--
-- classes  of the worker (JSON), "" for all
-- names    of queues; the first one stands for all queues
-- Result   per queue without the first: 0 if it is open, -1 if it is closed for an unknown time, else ms until it opens;
--          per queue ms until a group may have work: 0 now, -1 if no group has jobs
-- O(Q + N) for Q queues and the N jobs that count against their limits

local paused = pausedOf(now, names)
local limits, grouped = limitsOf(names)
local closed = {}
-- When a group gives a job without another event: -1 never, 0 now, else in this many ms.
local groups = {}
for i = 2, #names do
  local closedMs = paused[1] ~= 0 and paused[1] or paused[i]
  local limit = limits[i]
  if closedMs == 0 and limit then
    -- `take` reports a limit that can't be read.
    local fine, _, opens = pcall(roomIn, names[i], limit, now)
    if fine then closedMs = opens end
  end
  closed[i - 1] = closedMs
  groups[i - 1] = -1
  if grouped[i] and closedMs == 0 then
    if redis.call('EXISTS', 'jobs:groups:ready:' .. names[i]) == 1 then
      groups[i - 1] = 0
    else
      local due = redis.call('ZRANGE', 'jobs:groups:due:' .. names[i], 0, 0, 'WITHSCORES')
      groups[i - 1] = due[2] and math.max(0, due[2] - now) or 1000
      if due[2] and #earlyStarts(names[i], now) > 0 then groups[i - 1] = 0 end
      for _, place in ipairs(asidesOf(names[i], classes)) do
        local fine, room, opens = pcall(asideRoomIn, names[i], place, now)
        if not fine or room > 0 then
          groups[i - 1] = 0
        elseif opens > 0 then
          groups[i - 1] = math.min(groups[i - 1], opens)
        end
      end
    end
  end
end
return { closed, groups }
