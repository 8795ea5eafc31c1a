--- script take(leasesKey; now, worker, id, maxJobs, maxBytes, minTurn, classes, lost[], queues[]) allow-oom: job unlock cancelled turns groupChanges returnLease groups limits groupLimits pauses asides asideRoom
-- Takes jobs from the right ends of queues, up to the limits of number and bytes, but at least one. Each job becomes a lease.
--
-- A token is: 11 hex digits of the time in ms, 16 of the name of the take, "-", 5 digits of the job's number in the take,
-- ":", the queue. Sorted as text, the tokens of a worker are in the order of taking.
--
-- leasesKey jobs:leases:WORKER
-- id       name of this take (16 hex digits)
-- minTurn  min number of jobs of a turn of a group (1 to 16)
-- classes  of the worker (JSON), "" for all: which jobs aside it takes
-- lost     names of takes whose reply was lost
-- queues   in order
-- Result   the prefix of all tokens of this take,
--          per lease of a take whose reply was lost: token, payload (flat),
--          the numbers of the leases, from 1, whose batch was cancelled,
--          then per queue: its payloads, its name
-- O(N) for N jobs, and those that count against the limit of a queue

local call = redis.call
local prefix = string.format('%011x', now) .. id .. '-'
local left = tonumber(maxJobs)
local bytes = tonumber(maxBytes)
minTurn = tonumber(minTurn)
local again = {}
local result = { prefix, again, {} }

-- Fail on a key of the wrong type before a job is popped.
call('HLEN', leasesKey)
-- The worker has given this take up: the network delivers it when the worker has taken again.
local given = 'jobs:given-up:' .. worker
if call('SISMEMBER', given, id) == 1 then return result end
if #lost > 0 then checkCancelled(leasesKey) end
-- The rescuer must find the leases of a worker that has no heartbeat yet.
call('ZADD', 'jobs:workers', 'NX', now, worker)

-- Leases of takes whose reply was lost: the worker doesn't have them yet. Those beyond the limits return to their queues.
if #lost > 0 then
  local unanswered = {}
  for _, one in ipairs(lost) do
    unanswered[one] = true
    call('SADD', given, one)
  end
  call('EXPIRE', given, 3600)
  local tokens = {}
  for _, token in ipairs(call('HKEYS', leasesKey)) do
    if unanswered[string.sub(token, 12, 27)] then tokens[#tokens + 1] = token end
  end
  table.sort(tokens)
  local fits = 0
  for i = 1, math.min(#tokens, left) do
    local size = call('HSTRLEN', leasesKey, tokens[i])
    if i > 1 and size > bytes then break end
    bytes = bytes - size
    fits = i
  end
  for i = #tokens, 1, -1 do
    if i > fits then
      returnLease(leasesKey, tokens[i], call('HGET', leasesKey, tokens[i]))
      tokens[i] = nil
    end
  end
  for i, token in ipairs(tokens) do
    again[2 * i - 1] = token
    again[2 * i] = call('HGET', leasesKey, token)
  end
  left = left - #tokens
end
-- Returns the result, with the numbers of the leases that must not start.
local function finish()
  result[3] = cancelledIn(again, result, 4)
  return result
end
if left == 0 or bytes <= 0 or #queues == 0 then return finish() end

-- The first name stands for all queues.
local names = { '*' }
for _, queue in ipairs(queues) do names[#names + 1] = queue end
local paused = pausedOf(now, names)
if paused[1] ~= 0 then return finish() end
local limits, grouped = limitsOf(names)
-- The number of the next token, and its token without the last digit: Lua formats a number slowly.
local place, tens = 10000, ''
local UNITS = { [0] = '0', '1', '2', '3', '4', '5', '6', '7', '8', '9' }
local count = #again / 2
-- How many jobs are popped at once. The number grows, because their sizes are unknown.
local popCount = 1

-- Moves the jobs that name a group to that group. Such payloads are in the queue itself if a client in another language pushed
-- them. Returns the others, and whether jobs were moved.
local function moveToGroups(queue, jobs)
  local others
  for k, payload in ipairs(jobs) do
    local group = groupNamedIn(payload)
    if group and not others then others = { unpack(jobs, 1, k - 1) } end
    if group then
      local name = queue .. '|' .. group
      local pushed = redis.pcall('LPUSH', 'queue:' .. name, payload)
      -- The others are in no queue now: nothing may end the script.
      if type(pushed) == 'number' then apart(notePush, name, 1) else others[#others + 1] = payload end
    elseif others then
      others[#others + 1] = payload
    end
  end
  return others or jobs, others ~= nil
end

-- Adds the jobs that were taken from a queue or a group to the result.
local function addToResult(name, jobs)
  if #jobs == 0 then return end
  jobs[#jobs + 1] = name
  result[#result + 1] = jobs
end

-- Pushes jobs back that were popped beyond the limit of bytes, youngest first, so that the oldest is at the right end again.
local function pushBack(key, jobs, from)
  bytes = 0
  for k = #jobs, from, -1 do
    call('RPUSH', key, jobs[k])
    jobs[k] = nil
  end
end

-- Takes up to `max` jobs of a queue or a group, and calls `keep` with the new leases: token, payload, token, payload …
-- leasedAs: the name of the queue or group that jobs aside return to. Returns the payloads, or the error of a key that isn't a list; and
-- whether jobs were moved to groups.
local function takeFrom(name, isGroup, max, keep, leasedAs)
  local key, suffix = 'queue:' .. name, ':' .. (leasedAs or name)
  local taken, moved = {}, false
  while max > 0 and bytes > 0 do
    local wanted = math.min(max, popCount)
    -- No more than probably fit: what is popped beyond the limit is pushed back.
    if count > 0 then wanted = math.min(wanted, math.max(1, math.ceil(bytes * count / (maxBytes - bytes)))) end
    local jobs = redis.pcall('RPOP', key, wanted)
    if not jobs then break end
    if jobs.err then return jobs, moved end
    local popped, hasMoved = #jobs, false
    if not isGroup then jobs, hasMoved = moveToGroups(name, jobs) end
    moved = moved or hasMoved
    local fits, leases = 0, {}
    while fits < #jobs and (count == 0 or #jobs[fits + 1] <= bytes) do
      fits = fits + 1
      count = count + 1
      bytes = bytes - #jobs[fits]
      local unit = place % 10
      if unit == 0 then tens = prefix .. place / 10 end
      leases[2 * fits - 1] = tens .. UNITS[unit] .. suffix
      leases[2 * fits] = jobs[fits]
      taken[#taken + 1] = jobs[fits]
      place = place + 1
    end
    if fits > 0 then keep(leases) end
    for k = 1, fits do unlockStarted(jobs[k]) end
    if fits < #jobs then pushBack(key, jobs, fits + 1) end
    if popped < wanted then break end
    max = max - fits
    popCount = math.min(4 * popCount, 100)
  end
  return taken, moved
end

-- Takes jobs of a queue that wait aside for the classes of the worker, equally often from each place. Returns their number.
local function takeAsides(queue, max, keep)
  local places = asidesOf(queue, classes)
  local hasLimits = #places > 0 and call('EXISTS', 'jobs:groups:limits:' .. queue) == 1
  -- A place that is new is next, and doesn't catch up with the others.
  local first
  for _, place in ipairs(places) do
    if place.tag > 0 and (not first or place.tag < first) then first = place.tag end
  end
  for _, place in ipairs(places) do
    if place.tag == 0 then place.tag = math.max(0, (first or 0) - 1) end
  end
  local total = 0
  while total < max and bytes > 0 and #places > 0 do
    table.sort(places, function(a, b) return a.tag < b.tag or a.tag == b.tag and a.name < b.name end)
    local left = {}
    for _, place in ipairs(places) do
      if total == max or bytes <= 0 then break end
      local name, group = queue .. '|' .. place.name, place.group
      local leasedAs = group and queue .. '|' .. group or queue
      local room, _, limit = asideRoomIn(queue, place, now, true)
      local weight = limit and limit.weight or 1
      local most = math.min(max - total, room, math.max(1, math.floor(math.ceil((max - total) / #places) * weight)))
      local function keepAll(leases)
        keep(leases)
        if hasLimits and group and not PRIORITIES[group] then
          noteTaken(leasedAs, { running = 1, starts = limit and limit.starts or 0, per = limit and limit.per or 0 }, now, worker, leases)
        end
      end
      local jobs = most > 0 and takeFrom(name, true, most, keepAll, leasedAs) or {}
      if jobs.err then return total, jobs end
      local taken = #jobs
      addToResult(leasedAs, jobs)
      if taken > 0 then
        total = total + taken
        place.tag = place.tag + taken / weight
        call('ZADD', 'jobs:groups:aside:' .. queue, 'XX', place.tag, place.name)
        apart(noteRemoval, name, taken)
        if taken == most then left[#left + 1] = place end
      end
    end
    places = left
  end
  return total
end

-- The turns of a queue during this take are a table, `turns`:
--   queue, max         its name, and the most jobs to take
--   noteQueue          counts leases against the limit of the queue; nil without one
--   vtime, ownTag      the virtual time of the queue, and the tag of its jobs without a group
--   own                how many of these are left
--   count              how many groups have turns, the jobs without a group counted as one
--   total, fromGroups  jobs taken, and those of groups
--   hasLimits, hasPauses  whether groups have them
--   changes            what the take changes, written together: `groupChanges`
--   peek, remove, add  the ready groups in order: `turns`
--   failure            the first error of a key

-- Takes few jobs of a group without a limit, a pause or a priority. The same as takeTurn, for the case of many groups: as few
-- calls and tables as possible.
local function takeFew(turns, group, tag, quantum)
  local key, changes = 'queue:' .. turns.queue .. '|' .. group, turns.changes
  local jobs = redis.pcall('RPOP', key, math.min(quantum, turns.max - turns.total))
  if not jobs then
    changes.empty(group, tag)
    turns.count = turns.count - 1
    return
  elseif jobs.err then
    turns.failure = jobs
    return changes.hold(group, tag, 1000)
  end
  local name, leases = string.sub(key, 7), changes.leases
  local suffix = ':' .. name
  for k, payload in ipairs(jobs) do
    if count > 0 and #payload > bytes then
      pushBack(key, jobs, k)
      break
    end
    count = count + 1
    bytes = bytes - #payload
    local unit = place % 10
    if unit == 0 then tens = prefix .. place / 10 end
    leases[#leases + 1] = tens .. UNITS[unit] .. suffix
    leases[#leases + 1] = payload
    place = place + 1
    unlockStarted(payload)
  end
  if #jobs == 0 then return end
  turns.total, turns.fromGroups = turns.total + #jobs, turns.fromGroups + #jobs
  tag = math.max(turns.vtime, tag) + #jobs
  changes.mayStay(group, tag)
  turns.add(group, tag)
  addToResult(name, jobs)
end

-- Takes the jobs of a group whose turn it is.
local function takeTurn(turns, group, tag, quantum)
  local queue, changes, hasLimits = turns.queue, turns.changes, turns.hasLimits
  local name = queue .. '|' .. group
  local limit = (hasLimits or PRIORITIES[group]) and groupLimitOf(queue, group, now)
  local fine, room, opens = true, 1e9, 0
  local pausedFor = turns.hasPauses and groupPausedFor(now, queue, group) or 0
  if limit then fine, room, opens = pcall(groupRoomIn, name, limit, now, true) end
  if not fine then
    turns.failure = room
    return changes.hold(group, tag, 1000)
  elseif pausedFor ~= 0 or room == 0 then
    turns.count = turns.count - 1
    return changes.hold(group, tag, pausedFor ~= 0 and pausedFor or opens)
  end
  local weight = limit and limit.weight or 1
  local keep = changes.keepLater
  if hasLimits and not PRIORITIES[group] then
    -- Count the leases of a group without a limit, too: it may get one.
    local starts, per = limit and limit.starts or 0, limit and limit.per or 0
    keep = function(some)
      changes.keepNow(some)
      noteTaken(name, { running = 1, starts = starts, per = per }, now, worker, some)
    end
  end
  local most = math.min(turns.max - turns.total, room, math.max(1, math.floor(quantum * weight)))
  local jobs = takeFrom(name, true, most, keep)
  if jobs.err then
    turns.failure = jobs
    return changes.hold(group, tag, 1000)
  end
  turns.total, turns.fromGroups = turns.total + #jobs, turns.fromGroups + #jobs
  tag = math.max(turns.vtime, tag) + #jobs / weight
  if call('EXISTS', 'queue:' .. name) == 1 then
    changes.stay(group, tag)
    turns.add(group, tag)
  else
    changes.empty(group, tag)
    turns.count = turns.count - 1
  end
  addToResult(name, jobs)
end

-- Reads the ready groups again, after the changes so far.
local function readAgain(turns)
  turns.changes.write()
  turns.peek, turns.remove, turns.add = readyGroups(turns.queue)
end

-- Takes jobs without a group: it is their turn.
local function takeOwn(turns, quantum)
  local queue = turns.queue
  turns.vtime = turns.ownTag
  local jobs, moved = takeFrom(queue, false, math.min(turns.max - turns.total, quantum), turns.changes.keepNow)
  if jobs.err then
    turns.own, turns.failure = 0, jobs
    return
  end
  turns.own = call('LLEN', 'queue:' .. queue)
  turns.ownTag = turns.ownTag + #jobs
  turns.total = turns.total + #jobs
  if #jobs == 0 and not moved then turns.own = 0 end
  addToResult(queue, jobs)
  if moved then readAgain(turns) end
end

local function takeAll(turns)
  local isSimple = not turns.hasLimits and not turns.hasPauses
  local max, looked = turns.max, 0
  while turns.total < max and bytes > 0 and looked < max + 100 do
    looked = looked + 1
    local group, tag, turn = turns.peek()
    turns.ownTag = math.max(turns.ownTag, turns.vtime)
    local quantum = math.min(100, math.max(minTurn, math.floor(max / math.max(1, turns.count))))
    if turns.own > 0 and (not group or turns.ownTag <= turn) then
      takeOwn(turns, quantum)
    elseif not group then
      if turns.total > 0 then break end
      turns.changes.write()
      if not recheckHeld(turns.queue, turns.vtime, now) then break end
      readAgain(turns)
      looked = looked + 50
    else
      turns.vtime = math.max(turns.vtime, turn)
      turns.remove(group)
      local take = isSimple and quantum <= 16 and not PRIORITIES[group] and takeFew or takeTurn
      take(turns, group, tag, quantum)
    end
  end
end

-- Takes from the groups of a queue in turn; its jobs without a group count as one of them: see port/groups.ts. Adds the jobs
-- of each to the result. noteQueue: counts leases against the limit of the queue, if it has one. Returns their number, and an error.
local function takeTurns(queue, max, noteQueue)
  local state = 'jobs:groups:state:' .. queue
  local known = call('HMGET', state, 'v', 'u')
  local own = redis.pcall('LLEN', 'queue:' .. queue)
  local turns = {
    queue = queue,
    max = max,
    vtime = tonumber(known[1] or 0) or 0,
    ownTag = tonumber(known[2] or 0) or 0,
    own = type(own) == 'number' and own or 0,
    total = 0,
    fromGroups = 0,
    hasLimits = call('EXISTS', 'jobs:groups:limits:' .. queue) == 1,
    hasPauses = call('EXISTS', 'jobs:groups:paused:' .. queue) == 1,
    changes = groupChanges(queue, leasesKey, now, noteQueue),
  }
  readyDue(queue, turns.vtime, now)
  turns.count = call('ZCARD', 'jobs:groups:ready:' .. queue) + (turns.own > 0 and 1 or 0)
  turns.peek, turns.remove, turns.add = readyGroups(queue)
  -- Jobs that are popped must become leases, even after an error.
  local fine, problem = pcall(takeAll, turns)
  turns.changes.write()
  if not fine then error(problem) end
  if turns.fromGroups > 0 then apart(call, 'HINCRBY', state, 'size', -turns.fromGroups) end
  if not endTurns(queue) then
    local vtime, ownTag = string.format('%.17g', turns.vtime), string.format('%.17g', turns.ownTag)
    call('HSET', state, 'v', vtime, 'u', ownTag)
    call('ZREMRANGEBYSCORE', 'jobs:groups:idle:' .. queue, '-inf', vtime)
  end
  return turns.total, turns.failure
end

-- A queue that can't be read (its key, or a key that its limit is counted from, has another type) must not fail the take: the
-- jobs taken before would be leased without a reply. Its error is returned if the take has nothing else to return.
local failure
for i = 2, #names do
  if paused[i] == 0 then
    local name, limit, max = names[i], limits[i], left
    if limit then
      local fine, room = pcall(roomIn, name, limit, now, true)
      if fine then max = math.min(left, room) else max, failure = 0, room end
    end
    local noteLimited = limit and function(leases) noteTaken(name, limit, now, worker, leases) end
    local function keep(leases)
      call('HSET', leasesKey, unpack(leases))
      if noteLimited then noteLimited(leases) end
    end
    local hasGroups = grouped[i]
    if hasGroups and max > 0 then
      local before = count
      local fine, total, problem = pcall(takeAsides, name, max, keep)
      failure = failure or not fine and total or problem
      left, max = left - (count - before), max - (count - before)
    end
    if not hasGroups then
      local jobs, moved = takeFrom(name, false, max, keep)
      if jobs.err then
        failure = jobs
      else
        hasGroups = moved
        left, max = left - #jobs, max - #jobs
        addToResult(name, jobs)
      end
    end
    if hasGroups and max > 0 then
      local fine, total, problem = pcall(takeTurns, name, max, noteLimited)
      failure = failure or not fine and total or problem
      left = maxJobs - count
    end
    if left == 0 or bytes <= 0 then break end
  end
end
if failure and #result == 3 and #again == 0 then
  return type(failure) == 'string' and redis.error_reply(failure) or failure
end
return finish()

--- part cancelled: job
-- Finds members of cancelled batches among the jobs of a take. Only reads, and never fails.

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
