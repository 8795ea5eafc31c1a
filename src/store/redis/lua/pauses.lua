--- part pauses
-- Pauses of queues and groups.

-- Returns whether each of the names is paused now: 0 no, -1 until it is resumed, else the remaining ms.
local function pausedOf(now, names)
  local paused = {}
  -- Lua limits the number of arguments of a call.
  for from = 1, #names, 1000 do
    local to = math.min(from + 999, #names)
    local lasting = redis.call('SMISMEMBER', 'paused', unpack(names, from, to))
    local ends = redis.call('ZMSCORE', 'jobs:paused-until', unpack(names, from, to))
    for i, isLasting in ipairs(lasting) do
      local left = ends[i] and tonumber(ends[i]) - now or 0
      paused[from + i - 1] = isLasting == 1 and -1 or math.max(0, left)
    end
  end
  return paused
end

-- Returns whether a group is paused now: 0 no, -1 until it is resumed, else the remaining ms.
local function groupPausedFor(now, queue, group)
  local till = tonumber(redis.call('HGET', 'jobs:groups:paused:' .. queue, group))
  return not till and 0 or till == 0 and -1 or math.max(0, till - now)
end

--- script pauseQueue(; now, queue, ms)
-- Pauses a queue, or resumes it. A pause with an end is in a separate set: Sidekiq has no such pauses.
--
-- ms       until the pause ends: "" until it is resumed, 0 to resume it
-- O(log P) for P pauses

local call = redis.call
-- Fail on a key of the wrong type before anything is written.
call('SCARD', 'paused')
call('ZREMRANGEBYSCORE', 'jobs:paused-until', '-inf', now)
call('ZREM', 'jobs:paused-until', queue)
if ms == '' then
  call('SADD', 'paused', queue)
else
  call('SREM', 'paused', queue)
  if tonumber(ms) > 0 then call('ZADD', 'jobs:paused-until', now + ms, queue) end
end
return 1

--- script pauseGroup(; now, queue, group, ms) allow-oom: groups
-- Pauses a group of a queue, or resumes it. A paused group is held at its next turn.
--
-- ms       until the pause ends: "" until it is resumed, 0 to resume it
-- Result   1
-- O(P) for P paused groups of the queue

local call = redis.call
local key = 'jobs:groups:paused:' .. queue
checkGroups(queue)
local pauses = call('HGETALL', key)
for i = 1, #pauses, 2 do
  local till = tonumber(pauses[i + 1])
  if not till or till > 0 and till <= now then call('HDEL', key, pauses[i]) end
end
if ms == '0' then
  call('HDEL', key, group)
else
  call('HSET', key, group, ms == '' and '0' or string.format('%.0f', now + ms))
  markGrouped(queue)
end
wakeGroup(queue .. '|' .. group)
endTurns(queue)
return 1

--- script forgetQueue(; now, name): pauses
-- Removes a queue that is empty, not paused and not limited. A running job that returns to the queue adds it again.
--
-- Result   1, or 0 if the queue isn't removed
-- O(1)

local call = redis.call
if call('LLEN', 'queue:' .. name) > 0 or pausedOf(now, { name })[1] ~= 0 then return 0 end
if call('HEXISTS', 'jobs:limits', name) == 1 then return 0 end
return call('SREM', 'queues', name)

--- script hasQueuedJobs(; now, classes, names[]) no-writes: pauses asides
-- Returns whether a queue that isn't paused has jobs outside of paused groups.
--
-- classes  of the worker (JSON), "" for all
-- names    of queues; the first one stands for all queues
-- Result   1 or 0
-- O(Q + P) for Q queues and their P paused groups

local paused = pausedOf(now, names)
if paused[1] ~= 0 then return 0 end
for i = 2, #names do
  -- A key of another type has no jobs.
  local length = paused[i] == 0 and redis.pcall('LLEN', 'queue:' .. names[i])
  if type(length) == 'number' and length > 0 then return 1 end
  local inGroups = length == 0 and tonumber(redis.call('HGET', 'jobs:groups:state:' .. names[i], 'size')) or 0
  if inGroups > 0 then
    for _, group in ipairs(redis.call('HKEYS', 'jobs:groups:paused:' .. names[i])) do
      if groupPausedFor(now, names[i], group) ~= 0 then
        inGroups = inGroups - redis.call('LLEN', 'queue:' .. names[i] .. '|' .. group)
      end
    end
    local mine = {}
    for _, place in ipairs(asidesOf(names[i], classes)) do
      mine[place.name] = not place.group or groupPausedFor(now, names[i], place.group) == 0
    end
    for _, place in ipairs(redis.call('ZRANGE', 'jobs:groups:aside:' .. names[i], 0, -1)) do
      if not mine[place] then inGroups = inGroups - redis.call('LLEN', 'queue:' .. names[i] .. '|' .. place) end
    end
    if inGroups > 0 then return 1 end
  end
end
return 0
