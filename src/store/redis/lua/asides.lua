--- part asides
-- Jobs aside, see src/job/aside.ts: those that wait in a queue for a worker with their class. The jobs of a class are in a separate list,
-- queue:QUEUE||@CLASS, or queue:QUEUE||@CLASS|GROUP if they belong to a group, with the key
--   jobs:groups:aside:QUEUE   "|@CLASS" or "|@CLASS|GROUP" -> the virtual time of the place (sorted set)
--   jobs:asides               queues that have such places, or had some (set)
-- They count as jobs in groups.

local function isAside(group) return string.sub(group, 1, 2) == '|@' end

local UNESCAPED = { ['25'] = '%', ['00'] = '\0' }

-- Returns class and group of a place aside, the class as the name has it; nil without a group.
local function asideIn(place)
  local class, group = string.match(place, '^|@([^|]*)|(.+)$')
  if not class then return string.sub(place, 3) end
  return class, (string.gsub(group, '%%(%d%d)', UNESCAPED))
end

-- Returns the places aside of a queue that workers with some classes take from: place, virtual time, group. classes: JSON, "" for all.
local function asidesOf(queue, classes)
  local all = redis.call('ZRANGE', 'jobs:groups:aside:' .. queue, 0, -1, 'WITHSCORES')
  local places = {}
  if #all == 0 then return places end
  local taken
  if classes ~= '' then
    taken = {}
    for _, class in ipairs(cjson.decode(classes)) do taken[class] = true end
  end
  for i = 1, #all, 2 do
    local class, group = asideIn(all[i])
    if not taken or taken[class] then places[#places + 1] = { name = all[i], tag = tonumber(all[i + 1]), group = group } end
  end
  return places
end

--- part asideRoom: groupLimits pauses
-- Returns how many jobs may be taken from a place aside, ms until one may if none (-1: unknown), and the limit of its group or nil.
local function asideRoomIn(queue, place, now, tidy)
  local group = place.group
  if not group then return 1e9, 0 end
  local limit = groupLimitOf(queue, group, now)
  local pausedFor = groupPausedFor(now, queue, group)
  if pausedFor ~= 0 then return 0, pausedFor, limit end
  if not limit then return 1e9, 0 end
  local room, opens = groupRoomIn(queue .. '|' .. group, limit, now, tidy)
  return room, opens, limit
end

--- part putAside: job enqueuedAt groups replace returnLease
-- Puts leased jobs aside.

-- Earlier jobs are looked for among this many of the youngest.
local MAX_PASSED = 100

-- Adds a job to a list in the order of the enqueue times: takes of several workers put jobs aside in any order.
local function addInOrder(key, payload)
  local call = redis.call
  local at = enqueuedAt(payload)
  local oldest = at and call('LINDEX', key, -1)
  if not oldest then return call('LPUSH', key, payload) end
  if (enqueuedAt(oldest) or 0) > at then return call('RPUSH', key, payload) end
  local pivot
  for i = 0, MAX_PASSED - 1 do
    local younger = call('LINDEX', key, i)
    if not younger or (enqueuedAt(younger) or 0) <= at then break end
    pivot = younger
  end
  if not pivot or call('LINSERT', key, 'AFTER', pivot, payload) < 0 then call('LPUSH', key, payload) end
end

-- Returns the name of the place aside of a lease, for a class.
local function asideFor(token, class)
  local name = placeIn(token)
  local queue, group = groupIn(name)
  if not queue then return name .. '||@' .. class end
  return queue .. '||@' .. class .. '|' .. string.gsub(group, '[%%%z]', { ['%'] = '%25', ['\0'] = '%00' })
end

-- The lease doesn't count as a start.
local function takeBackStart(token)
  local name = placeIn(token)
  local moment = string.format('%.0f', tonumber(string.sub(token, 1, 11), 16) or 0)
  for _, limited in ipairs({ name, (groupIn(name)) }) do
    redis.call('LREM', 'jobs:starts:' .. limited, 1, moment)
  end
end

-- Puts a leased job aside. A cancelled one passes to the worker of cancelled jobs, as by `returnLease`. The lease ends only then.
local function putAside(leases, token, payload, class)
  if redis.call('SISMEMBER', 'jobs:cancelled:' .. string.sub(leases, 13), token) == 1 then
    return returnLease(leases, token, payload)
  end
  local name, place = placeIn(token), asideFor(token, class)
  payload = markReturned(payload)
  addInOrder('queue:' .. place, payload)
  redis.call('HDEL', leases, token)
  apart(notePush, place, 1)
  apart(noteReplaceable, 'queue:' .. place, payload)
  apart(takeBackStart, token)
  if groupIn(name) then
    apart(redis.call, 'HDEL', 'jobs:running:' .. name, token)
    apart(wakeGroup, name)
  end
end

--- part sidekiq
-- Returns whether a process of Sidekiq takes from a queue: its classes aren't known. `known`: queue -> that, kept during a script.
local function isSharedWithSidekiq(queue, known)
  if known[queue] ~= nil then return known[queue] end
  known[queue] = false
  for _, process in ipairs(redis.call('SMEMBERS', 'processes')) do
    local info = not redis.call('ZSCORE', 'jobs:workers', process) and redis.pcall('HGET', process, 'info')
    if type(info) == 'string' then
      local fine, record = pcall(cjson.decode, info)
      for _, name in ipairs(fine and type(record) == 'table' and type(record.queues) == 'table' and record.queues or {}) do
        if name == queue then known[queue] = true end
      end
    end
  end
  return known[queue]
end

--- script returnAsides(; max) allow-oom: job asides groups replace sidekiq
-- Returns jobs aside to the front of queues from which Sidekiq takes, too: it doesn't know the places aside.
--
-- max      of jobs
-- Result   how many were returned
-- O(N) for N jobs, and O(P) for P processes

local call = redis.call
local known, count = {}, 0
call('SCARD', 'processes')
for _, queue in ipairs(call('SMEMBERS', 'jobs:asides')) do
  if isSharedWithSidekiq(queue, known) then
    checkQueue(queue)
    for _, place in ipairs(call('ZRANGE', 'jobs:groups:aside:' .. queue, 0, -1)) do
      local name = queue .. '|' .. place
      local _, group = asideIn(place)
      local to = group and queue .. '|' .. group or queue
      checkQueue(name)
      checkQueue(to)
      local moved = 0
      -- The youngest first, so that the oldest ends at the very front: the right end.
      while count < tonumber(max) do
        local payload = call('LMOVE', 'queue:' .. name, 'queue:' .. to, 'LEFT', 'RIGHT')
        if not payload then break end
        apart(noteReplaceable, 'queue:' .. to, payload)
        count, moved = count + 1, moved + 1
      end
      apart(noteRemoval, name, moved)
      if moved > 0 then apart(notePush, to, moved) end
    end
  end
end
return count
