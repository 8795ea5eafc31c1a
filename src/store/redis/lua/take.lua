#!lua flags=allow-oom
-- Takes jobs from the right ends of queues, up to the limits of number and bytes, but at least one. Each job becomes a lease.
--
-- A token is: 11 hex digits of the time in ms, 16 of the name of the take, "-", 5 digits of the job's number in the take,
-- ":", the queue. Sorted as text, the tokens of a worker are in the order of taking.
--
-- KEYS[1]  jobs:leases:WORKER
-- ARGV     offset of the clock in ms, worker ID, name of this take (16 hex digits), limit, max bytes, min number of
--          jobs of a turn of a group (1 to 16), number of takes whose reply was lost, their names, then the queues in order
-- Result   the prefix of all tokens of this take,
--          per lease of a take whose reply was lost: token, payload (flat),
--          the numbers of the leases, from 1, whose batch was cancelled,
--          then per queue: its payloads, its name
-- O(N) for N jobs, and those that count against the limit of a queue

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local prefix = string.format('%011x', now) .. ARGV[3] .. '-'
local left = tonumber(ARGV[4])
local bytes = tonumber(ARGV[5])
local minTurn = tonumber(ARGV[6])
local first = 8 + ARGV[7]
local again = {}
local result = { prefix, again, {} }

-- Fail on a key of the wrong type before a job is popped.
call('HLEN', KEYS[1])
if first > 8 then checkCancelled(KEYS[1]) end
-- The rescuer must find the leases of a worker that has no heartbeat yet.
call('ZADD', 'jobs:workers', 'NX', now, ARGV[2])

-- Leases of takes whose reply was lost: the worker doesn't have them yet. Those beyond the limits return to their queues.
if first > 8 then
  local unanswered = {}
  for i = 8, first - 1 do unanswered[ARGV[i]] = true end
  local tokens = {}
  for _, token in ipairs(call('HKEYS', KEYS[1])) do
    if unanswered[string.sub(token, 12, 27)] then tokens[#tokens + 1] = token end
  end
  table.sort(tokens)
  local fits = 0
  for i = 1, math.min(#tokens, left) do
    local size = call('HSTRLEN', KEYS[1], tokens[i])
    if i > 1 and size > bytes then break end
    bytes = bytes - size
    fits = i
  end
  for i = #tokens, 1, -1 do
    if i > fits then
      returnLease(KEYS[1], tokens[i], call('HGET', KEYS[1], tokens[i]))
      tokens[i] = nil
    end
  end
  for i, token in ipairs(tokens) do
    again[2 * i - 1] = token
    again[2 * i] = call('HGET', KEYS[1], token)
  end
  left = left - #tokens
end
-- Returns the result, with the numbers of the leases that must not start.
local function finish()
  result[3] = cancelledIn(again, result, 4)
  return result
end
if left == 0 or bytes <= 0 or first > #ARGV then return finish() end

-- The first name stands for all queues.
local names = { '*' }
for i = first, #ARGV do names[#names + 1] = ARGV[i] end
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

-- Takes up to `max` jobs of a queue or a group, and calls `keep` with the new leases: token, payload, token, payload …
-- Returns the payloads, or the error of a key that isn't a list; and whether jobs were moved to groups.
local function takeFrom(name, isGroup, max, keep)
  local key, suffix = 'queue:' .. name, ':' .. name
  local taken, moved = {}, false
  while max > 0 and bytes > 0 do
    local wanted = math.min(max, popCount)
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
    if fits < #jobs then
      -- Youngest first, so that the oldest is at the right end again.
      bytes = 0
      for k = #jobs, fits + 1, -1 do call('RPUSH', key, jobs[k]) end
    end
    if popped < wanted then break end
    max = max - fits
    popCount = math.min(4 * popCount, 100)
  end
  return taken, moved
end

-- Takes from the groups of a queue in turn; its jobs without a group count as one of them: see port/groups.ts. Adds the jobs
-- of each to the result. noteQueue: counts leases against the limit of the queue, if it has one. Returns their number, and an error.
local function takeTurns(queue, max, noteQueue)
  local ready, held, due = 'jobs:groups:ready:' .. queue, 'jobs:groups:held:' .. queue, 'jobs:groups:due:' .. queue
  local idle, state = 'jobs:groups:idle:' .. queue, 'jobs:groups:state:' .. queue
  -- The virtual time of the queue, and the tag of its jobs without a group, which `own` counts.
  local known = call('HMGET', state, 'v', 'u')
  local vtime, ownTag = tonumber(known[1] or 0) or 0, tonumber(known[2] or 0) or 0
  for _, group in ipairs(call('ZRANGE', due, '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)) do
    local tag = call('ZSCORE', held, group)
    call('ZREM', due, group)
    call('ZREM', held, group)
    if tag then call('ZADD', ready, math.max(vtime, tonumber(tag)), group) end
  end
  local hasLimits = call('EXISTS', 'jobs:groups:limits:' .. queue) == 1
  local hasPauses = call('EXISTS', 'jobs:groups:paused:' .. queue) == 1
  local isSimple = not hasLimits and not hasPauses
  local total, fromGroups, looked, failure = 0, 0, 0, nil
  local own = redis.pcall('LLEN', 'queue:' .. queue)
  own = type(own) == 'number' and own or 0
  local turns = call('ZCARD', ready) + (own > 0 and 1 or 0)
  local peek, remove, add = readyGroups(queue)

  -- The changes of groups, written together: tags of those that stay ready, of those without jobs, of those held, with ms until
  -- they become ready (-1: when one of their leases ends). Leases: token, payload, token, payload …
  local tags, emptied, holds, leases = {}, {}, {}, {}
  -- Groups in `tags` that may be without jobs.
  local unsure = {}
  local function keepLater(some)
    for _, value in ipairs(some) do leases[#leases + 1] = value end
  end
  local function keepNow(some)
    call('HSET', KEYS[1], unpack(some))
    if noteQueue then noteQueue(some) end
  end
  local function keysOf(map)
    local keys = {}
    for key in pairs(map) do keys[#keys + 1] = key end
    return keys
  end
  local function zadd(key, scores)
    local arguments = {}
    for group, score in pairs(scores) do
      arguments[#arguments + 1] = score
      arguments[#arguments + 1] = group
      if #arguments == 1000 then
        call('ZADD', key, unpack(arguments))
        arguments = {}
      end
    end
    if #arguments > 0 then call('ZADD', key, unpack(arguments)) end
  end
  -- Calls `each` with the groups of a list that have jobs, or with those that have none. Asks for many at once first: usually
  -- all are alike.
  local function eachGroup(groups, haveJobs, each)
    for from = 1, #groups, 1000 do
      local to = math.min(from + 999, #groups)
      local keys = {}
      for i = from, to do keys[#keys + 1] = 'queue:' .. queue .. '|' .. groups[i] end
      if call('EXISTS', unpack(keys)) ~= (haveJobs and 0 or #keys) then
        for i, key in ipairs(keys) do
          if (call('EXISTS', key) == 1) == haveJobs then each(groups[from + i - 1]) end
        end
      end
    end
  end
  local function write()
    for from = 1, #leases, 1000 do
      local to = math.min(from + 999, #leases)
      call('HSET', KEYS[1], unpack(leases, from, to))
      if noteQueue then noteQueue({ unpack(leases, from, to) }) end
    end
    eachGroup(unsure, false, function(group)
      if tags[group] then tags[group], emptied[group] = nil, tags[group] end
    end)
    -- They may have got jobs since: those of clients that don't know groups.
    eachGroup(keysOf(emptied), true, function(group)
      tags[group], emptied[group] = emptied[group], nil
    end)
    local gone = keysOf(emptied)
    for from = 1, #gone, 1000 do call('ZREM', ready, unpack(gone, from, math.min(from + 999, #gone))) end
    zadd(idle, emptied)
    zadd(ready, tags)
    for group, hold in pairs(holds) do
      call('ZREM', ready, group)
      call('ZADD', held, hold[1], group)
      if hold[2] >= 0 then call('ZADD', due, now + hold[2], group) end
    end
    tags, emptied, holds, leases, unsure = {}, {}, {}, {}, {}
  end
  local function hold(group, tag, opens)
    holds[group] = { tag, opens }
    tags[group] = nil
  end

  -- Makes some of the held groups ready that no longer need to be held. Their event was missed: the worker that ran their jobs
  -- has died, or another program changed the keys. Returns whether it found any.
  local function recheckHeld()
    local found = false
    for _, group in ipairs(call('ZRANDMEMBER', held, 5)) do
      local limit = groupLimitOf(queue, group, now)
      if not call('ZSCORE', due, group) and groupPausedFor(now, queue, group) == 0 and (not limit or groupRoomIn(queue .. '|' .. group, limit, now, true) > 0) then
        call('ZADD', ready, math.max(vtime, tonumber(call('ZSCORE', held, group))), group)
        call('ZREM', held, group)
        found = true
      end
    end
    return found
  end

  -- Takes few jobs of a group without a limit, a pause or a priority. The same as takeTurn, for the case of many groups: as few
  -- calls and tables as possible.
  local names = 'queue:' .. queue .. '|'
  local function takeFew(group, tag, quantum)
    local key = names .. group
    local jobs = redis.pcall('RPOP', key, math.min(quantum, max - total))
    if not jobs then
      tags[group], emptied[group] = nil, tag
      turns = turns - 1
      return
    elseif jobs.err then
      failure = jobs
      return hold(group, tag, 1000)
    end
    local name = string.sub(key, 7)
    local suffix = ':' .. name
    for k, payload in ipairs(jobs) do
      if count > 0 and #payload > bytes then
        -- Youngest first, so that the oldest is at the right end again.
        bytes = 0
        for other = #jobs, k, -1 do
          call('RPUSH', key, jobs[other])
          jobs[other] = nil
        end
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
    total, fromGroups = total + #jobs, fromGroups + #jobs
    tag = math.max(vtime, tag) + #jobs
    if not tags[group] then unsure[#unsure + 1] = group end
    tags[group] = tag
    add(group, tag)
    jobs[#jobs + 1] = name
    result[#result + 1] = jobs
  end

  -- Takes the jobs of a group whose turn it is.
  local function takeTurn(group, tag, quantum)
    local name = queue .. '|' .. group
    local limit = (hasLimits or PRIORITIES[group]) and groupLimitOf(queue, group, now)
    local room, opens = 1e9, 0
    local fine = true
    local pausedFor = hasPauses and groupPausedFor(now, queue, group) or 0
    if limit then fine, room, opens = pcall(groupRoomIn, name, limit, now, true) end
    if not fine then
      failure = room
      return hold(group, tag, 1000)
    elseif pausedFor ~= 0 or room == 0 then
      turns = turns - 1
      return hold(group, tag, pausedFor ~= 0 and pausedFor or opens)
    end
    local weight = limit and limit.weight or 1
    local keep = keepLater
    if hasLimits and not PRIORITIES[group] then
      -- Count the leases of a group without a limit, too: it may get one.
      local starts, per = limit and limit.starts or 0, limit and limit.per or 0
      keep = function(some)
        keepNow(some)
        noteTaken(name, { running = 1, starts = starts, per = per }, now, ARGV[2], some)
      end
    end
    local jobs = takeFrom(name, true, math.min(max - total, room, math.max(1, math.floor(quantum * weight))), keep)
    if jobs.err then
      failure = jobs
      return hold(group, tag, 1000)
    end
    total, fromGroups = total + #jobs, fromGroups + #jobs
    tag = math.max(vtime, tag) + #jobs / weight
    if call('EXISTS', 'queue:' .. name) == 1 then
      tags[group] = tag
      add(group, tag)
    else
      tags[group], emptied[group] = nil, tag
      turns = turns - 1
    end
    if #jobs > 0 then
      jobs[#jobs + 1] = name
      result[#result + 1] = jobs
    end
  end

  local function takeAll()
    while total < max and bytes > 0 and looked < max + 100 do
      looked = looked + 1
      local group, tag, turn = peek()
      ownTag = math.max(ownTag, vtime)
      local quantum = math.min(100, math.max(minTurn, math.floor(max / math.max(1, turns))))
      if own > 0 and (not group or ownTag <= turn) then
        vtime = ownTag
        local jobs, moved = takeFrom(queue, false, math.min(max - total, quantum), keepNow)
        if jobs.err then
          own, failure = 0, jobs
        else
          own = call('LLEN', 'queue:' .. queue)
          ownTag = ownTag + #jobs
          total = total + #jobs
          if #jobs > 0 then
            jobs[#jobs + 1] = queue
            result[#result + 1] = jobs
          elseif not moved then
            own = 0
          end
          if moved then
            write()
            peek, remove, add = readyGroups(queue)
          end
        end
      elseif not group then
        if total > 0 then break end
        write()
        if call('EXISTS', held) == 0 or not recheckHeld() then break end
        peek, remove, add = readyGroups(queue)
        looked = looked + 50
      else
        vtime = math.max(vtime, turn)
        remove(group)
        if isSimple and quantum <= 16 and not PRIORITIES[group] then takeFew(group, tag, quantum) else takeTurn(group, tag, quantum) end
      end
    end
  end

  -- Jobs that are popped must become leases, even after an error.
  local fine, problem = pcall(takeAll)
  write()
  if not fine then error(problem) end
  if fromGroups > 0 then apart(call, 'HINCRBY', state, 'size', -fromGroups) end
  if not endTurns(queue) then
    call('HSET', state, 'v', string.format('%.17g', vtime), 'u', string.format('%.17g', ownTag))
    call('ZREMRANGEBYSCORE', idle, '-inf', string.format('%.17g', vtime))
  end
  return total, failure
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
    local noteLimited = limit and function(leases) noteTaken(name, limit, now, ARGV[2], leases) end
    local function keep(leases)
      call('HSET', KEYS[1], unpack(leases))
      if noteLimited then noteLimited(leases) end
    end
    local hasGroups = grouped[i]
    if not hasGroups then
      local jobs, moved = takeFrom(name, false, max, keep)
      if jobs.err then
        failure = jobs
      else
        hasGroups = moved
        left, max = left - #jobs, max - #jobs
        if #jobs > 0 then
          jobs[#jobs + 1] = name
          result[#result + 1] = jobs
        end
      end
    end
    if hasGroups and max > 0 then
      local fine, total, problem = pcall(takeTurns, name, max, noteLimited)
      failure = failure or not fine and total or problem
      left = tonumber(ARGV[4]) - count
    end
    if left == 0 or bytes <= 0 then break end
  end
end
if failure and #result == 3 and #again == 0 then
  return type(failure) == 'string' and redis.error_reply(failure) or failure
end
return finish()
