--- script settle(leases; now, maxDead, maxDeadAgeMs, maxRecords, wire, locks[token, key, jid], records[token, jid, ttl, body], sleepers[token, jid], waits[token, jid, step, state, child, outcome], nodes[token, batch, from, to, name, result], stepJobs[token, jid, dies], follows[token, jobs[queue, payload]], events[token, members], runs[first, count, batch, from, to], outcomes[kind, tokens[], classes[], delays[], payloads[]]) allow-oom: putAside sidekiq job addMember replace unlock trimDead countTotals returnLease groups steps noteSleep batch flow endCronJob records pushOnce streams events
-- Ends leases: applies each outcome, deletes the lease, and counts finished and failed jobs, in one step.
--
-- leases    jobs:leases:WORKER
-- maxDead, maxDeadAgeMs  of `dead`
-- maxRecords  how many records are kept
-- wire      7 or 8
-- locks     to release; key "": the job is the live job of a cron entry
-- records   to keep; ttl in ms ("": without a limit)
-- sleepers  snoozed jobs with steps
-- waits     steps of other jobs that wait for these; jid, step: the other job's; state: "succeeded" or "failed"; child: jid, or "";
--           outcome: members of JSON
-- nodes     of flows; from, to: old and new state; result: JSON, or ""
-- stepJobs  jobs with steps that end; dies: "1" if they die
-- follows   jobs to push after these; payload: without its closing brace
-- events    members of the events of ended jobs that haven't just succeeded, failed or died
-- runs      consecutive outcomes that a batch counts alike; first: place of the first one (from 1); from, to: old and new state
-- outcomes  in groups of consecutive ones of a kind:
--             "ack", "discard", "release", "return": a release of a job that has begun
--             "held ack", "held discard": of tokens that the worker holds, unless a rescue took them away
--             "retry", "schedule": delays in ms, payloads
--             "aside": classes; where Sidekiq takes from the queue, it counts as "schedule"
--             "dead": payloads ("": unchanged)
-- Result   how many members of `dead` were dropped, then the tokens without a lease
-- O(N + B log M) for N outcomes, B of them into a set of M members

local call = redis.call
local SETS = { retry = true, schedule = true, dead = true }

-- Fail on a key of the wrong type before anything is written.
local shared = {}
for _, group in ipairs(outcomes) do
  if group.kind == 'aside' then
    checkCancelled(leases)
    call('ZCARD', 'schedule')
    call('SCARD', 'processes')
    for k, token in ipairs(group.tokens) do
      checkQueue(placeIn(token))
      checkQueue(asideFor(token, group.classes[k]))
    end
  elseif group.kind == 'release' or group.kind == 'return' then
    checkCancelled(leases)
    for _, token in ipairs(group.tokens) do checkQueue(placeIn(token)) end
  elseif SETS[group.kind] then
    checkCancelled(leases)
    call('ZCARD', group.kind)
    call('ZCARD', 'dead')
  end
end

-- Token → members of its event.
local members = {}
for _, event in ipairs(events) do members[event.token] = event.members end
local function noteEnd(token, how, payload)
  apart(recordEnd, now, members[token] or '"type":"' .. how .. '"', payload)
end

local lost = {}
-- Token → true for each lease that this script has ended. False if nothing needs it.
local ended = #locks + #records + #waits + #nodes + #stepJobs + #follows > 0 and {}

-- Ends a lease. Returns false if the worker has lost it.
local function endLease(token)
  if call('HDEL', leases, token) == 0 then
    lost[#lost + 1] = token
    return false
  end
  if ended then ended[token] = true end
  return true
end

-- Ends the leases of jobs that leave the store.
local function endEach(tokens, how)
  for _, token in ipairs(tokens) do
    local payload = isRecording(now) and call('HGET', leases, token)
    if endLease(token) and payload then noteEnd(token, how, payload) end
  end
end

-- The same for leases that the worker holds. None is missing: a rescue that takes one away leaves a mark. They are deleted
-- together, which is cheaper. If some are missing anyway (on a server that lost its latest writes), only their number is found.
local function endHeldLeases(tokens, how)
  if call('EXISTS', 'jobs:rescued:' .. string.sub(leases, 13)) == 1 then
    endEach(tokens, how)
    return
  end
  for from = 1, #tokens, 1000 do
    local to = math.min(from + 999, #tokens)
    local payloads = isRecording(now) and call('HMGET', leases, unpack(tokens, from, to))
    local missing = to - from + 1 - call('HDEL', leases, unpack(tokens, from, to))
    for k = to, to - missing + 1, -1 do lost[#lost + 1] = tokens[k] end
    if ended then
      for k = from, to - missing do ended[tokens[k]] = true end
    end
    for k = 1, payloads and to - from + 1 or 0 do
      if payloads[k] then noteEnd(tokens[from + k - 1], how, payloads[k]) end
    end
  end
end

-- Buries a job whose payload can't be stored as its worker wants. The worker doesn't know that it ends.
local function buryExact(exact)
  addMember('dead', now, withReason(exact))
  apart(recordEnd, now, '"type":"dead"', exact)
  local job = jobWith(exact, 'jid"')
  if job and type(job.jid) == 'string' then
    apart(unlock, job.jid)
    if job.has_steps then
      apart(leaveAllWaiting, job.jid)
      apart(endStream, job.jid)
    end
  end
  local batch, counted, node = memberOf(exact)
  if batch then noteMember(batch, counted, 'dead', node) end
end

-- Token → jid of a job with steps that begins to sleep.
local asleep = {}
for _, sleeper in ipairs(sleepers) do asleep[sleeper.token] = sleeper.jid end

-- Apply the outcomes.
local released, begun = {}, {}
local leased = {}
-- A job that was cancelled ends instead of running again.
local cancelled = 'jobs:cancelled:' .. string.sub(leases, 13)
local function isCancelled(token) return call('SISMEMBER', cancelled, token) == 1 and call('HGET', leases, token) end
local earliest = {}
local dropped = 0
local finished, failed = 0, 0
for _, group in ipairs(outcomes) do
  local kind, tokens, payloads, before = group.kind, group.tokens, group.payloads, #lost
  local how = (kind == 'ack' or kind == 'held ack') and 'succeeded' or 'failed'
  if kind == 'ack' or kind == 'discard' then
    endEach(tokens, how)
  elseif kind == 'held ack' or kind == 'held discard' then
    endHeldLeases(tokens, how)
  elseif kind == 'release' or kind == 'return' then
    for _, token in ipairs(tokens) do
      local payload = not leased[token] and call('HGET', leases, token)
      if payload then
        released[#released + 1] = token
        leased[token] = payload
        begun[token] = kind == 'return'
      else
        lost[#lost + 1] = token
      end
    end
  elseif kind == 'dead' then
    for k, token in ipairs(tokens) do
      local payload = payloads[k]
      if payload == '' then payload = call('HGET', leases, token) end
      local exact = payload and exactOf(leases, token, payload)
      payload = exact and withReason(exact) or payload
      if endLease(token) then
        addMember('dead', now, payload)
        noteEnd(token, 'dead', payload)
      end
    end
    dropped = dropped + (apart(trimDead, now, maxDead, maxDeadAgeMs) or 0)
  else
    for k, token in ipairs(tokens) do
      local set = kind == 'aside' and 'schedule' or kind
      local exact = exactOf(leases, token, payloads[k])
      local ends = not leased[token] and isCancelled(token)
      local place = placeIn(token)
      local isAside = kind == 'aside' and not leased[token] and not isSharedWithSidekiq(groupIn(place) or place, shared)
      local stored = isAside and call('HGET', leases, token)
      if ends then
        released[#released + 1] = token
        leased[token] = ends
      elseif stored then
        apart(putAside, leases, token, stored, group.classes[k])
      elseif endLease(token) then
        if exact then
          buryExact(exact)
        else
          local at = now + group.delays[k]
          if asleep[token] then at = apart(noteSleep, now, asleep[token], at) or at end
          earliest[set] = math.min(earliest[set] or at, at)
          noteReplaceable(set, addMember(set, at, payloads[k]))
        end
      end
    end
  end
  if kind ~= 'release' and kind ~= 'return' and kind ~= 'schedule' and kind ~= 'aside' then
    local these = #tokens - (#lost - before)
    finished = finished + these
    if kind ~= 'ack' and kind ~= 'held ack' then failed = failed + these end
  end
end

-- The last one first, so that the first one ends at the very front: the right end.
for k = #released, 1, -1 do
  local token = released[k]
  apart(returnLease, leases, token, leased[token], begun[token])
end

-- Release the unique locks of ended jobs, unless another job holds the lock by now, and end the live jobs of cron entries.
local locked, jids = {}, {}
for _, lock in ipairs(locks) do
  if ended[lock.token] then
    if lock.key == '' then
      apart(endCronJob, lock.jid)
    else
      locked[#locked + 1] = 'jobs:unique:' .. lock.key
      jids[#jids + 1] = lock.jid
    end
  end
end
for from = 1, #locked, 1000 do
  local to = math.min(from + 999, #locked)
  local free = {}
  for i, text in ipairs(call('MGET', unpack(locked, from, to))) do
    local jid = jids[from + i - 1]
    if text and string.match(text, '^%d+ (.*)$') == jid then
      free[#free + 1] = locked[from + i - 1]
      free[#free + 1] = 'jobs:unique-of:' .. jid
      free[#free + 1] = 'jobs:replaceable:' .. jid
    end
  end
  if #free > 0 then call('DEL', unpack(free)) end
end

-- Keep the records of ended jobs.
for _, record in ipairs(records) do
  if ended[record.token] then keepRecord(now, record.jid, record.ttl, record.body) end
end
apart(listRecords, maxRecords)

-- Delete the steps of ended jobs.
local deleted = {}
for _, job in ipairs(stepJobs) do
  if ended[job.token] then
    apart(endStream, job.jid)
    if job.dies == '1' then apart(leaveAllWaiting, job.jid) else deleted[#deleted + 1] = 'jobs:steps:' .. job.jid end
  end
end
for from = 1, #deleted, 1000 do
  call('UNLINK', unpack(deleted, from, math.min(from + 999, #deleted)))
end

-- Push the jobs that follow. The same token counts once.
local followed = {}
for _, follow in ipairs(follows) do
  if ended[follow.token] and not followed[follow.token] then
    followed[follow.token] = true
    for _, job in ipairs(follow.jobs) do apart(pushOnce, now, wire, job) end
  end
end

-- Finish the waits of other jobs for ended jobs, and note the ends of flow nodes.
for _, wait in ipairs(waits) do
  if ended[wait.token] then
    apart(finishWait, now, wait.jid, wait.step, wait.outcome, wait.state, wait.child ~= '' and wait.child or nil)
  end
end
for _, node in ipairs(nodes) do
  if ended[node.token] then
    noteMember(node.batch, node.from, node.to, node.name, node.result)
    -- The same token counts once.
    ended[node.token] = nil
  end
end

-- The tokens of all outcomes in order, and how many times each of them is lost: the same token is settled once.
local settled, missing
local function findMissing()
  settled, missing = {}, {}
  for _, group in ipairs(outcomes) do
    for _, token in ipairs(group.tokens) do settled[#settled + 1] = token end
  end
  for _, token in ipairs(lost) do missing[token] = (missing[token] or 0) + 1 end
end

-- Count members of batches, without those whose lease is lost.
for _, run in ipairs(runs) do
  local count = tonumber(run.count)
  if #lost > 0 then
    if not settled then findMissing() end
    for place = run.first, run.first + count - 1 do
      local times = missing[settled[place]] or 0
      if times > 0 then
        missing[settled[place]] = times - 1
        count = count - 1
      end
    end
  end
  noteMembers(run.batch, run.from, run.to, count)
end

apart(countMembers, now)

for set, at in pairs(earliest) do
  local head = call('ZRANGE', set, 0, 0, 'WITHSCORES')
  -- The user may lack the permission to publish: pollers then see the job a second later.
  if head[2] and at <= math.floor(head[2] * 1000 + 0.5) then redis.pcall('PUBLISH', 'jobs:wake', 'due') end
end

-- The ended leases make room: their groups become ready, and workers that wait for a queue at its limit poll again. Leases are
-- counted only where a limit applies: jobs:groups:limits:QUEUE has those of groups, the text in jobs:limits that of the queue.
local limited = redis.pcall('HLEN', 'jobs:limits')
if type(limited) == 'number' and limited > 0 then
  -- Queue → tokens of all its jobs, and of each group; false for a queue where no lease is counted.
  local counted = {}
  local isLimited = false
  local function countedIn(queue)
    local text = call('HGET', 'jobs:limits', queue)
    if not text then return false end
    local isQueueLimited = string.sub(text, 1, 6) ~= '0 0 0 '
    isLimited = isLimited or isQueueLimited
    local hasGroups = call('EXISTS', 'jobs:groups:limits:' .. queue) == 1
    return (isQueueLimited or hasGroups) and { tokens = {}, groups = hasGroups and {} }
  end
  for _, group in ipairs(outcomes) do
    for _, token in ipairs(group.tokens) do
      local queue = string.match(token, ':([^|]*)') or ''
      local found = counted[queue]
      if found == nil then
        found = countedIn(queue)
        counted[queue] = found
      end
      if found then
        table.insert(found.tokens, token)
        local name = found.groups and string.match(token, '|(.+)$')
        if name then
          found.groups[name] = found.groups[name] or {}
          table.insert(found.groups[name], token)
        end
      end
    end
  end
  local function forget(name, those)
    for from = 1, #those, 1000 do
      redis.pcall('HDEL', 'jobs:running:' .. name, unpack(those, from, math.min(from + 999, #those)))
    end
  end
  for queue, found in pairs(counted) do
    if found then
      forget(queue, found.tokens)
      local hasHeld = found.groups and call('EXISTS', 'jobs:groups:held:' .. queue) == 1
      for group, some in pairs(found.groups or {}) do
        forget(queue .. '|' .. group, some)
        if hasHeld then apart(wakeGroup, queue .. '|' .. group) end
      end
    end
  end
  if isLimited then redis.pcall('PUBLISH', 'jobs:wake', 'room') end
end

apart(countTotals, now, 'processed', finished)
apart(countTotals, now, 'failed', failed)

table.insert(lost, 1, dropped)
return lost

--- part trimDead: job batch
-- Call `countMembers` afterwards. Drops dead jobs that are too old, and the oldest ones beyond the
-- limit. Returns how many. Drops at most 1,000 at once: after the limit was lowered there may be a million too many, which the
-- next burials drop.
local function trimDead(now, max, ageMs)
  local old = redis.call('ZCOUNT', 'dead', '-inf', string.format('(%.3f', (now - ageMs) / 1000))
  local over = redis.call('ZCARD', 'dead') - max
  local drop = math.min(math.max(old, over), 1000)
  if drop <= 0 then return 0 end
  for _, member in ipairs(redis.call('ZRANGE', 'dead', 0, drop - 1)) do
    local batch, counted, node = memberOf(member)
    if batch then noteMember(batch, counted, 'deleted', node) end
    local job = jobWith(member, 'has_steps"')
    if job and job.has_steps and type(job.jid) == 'string' then
      redis.call('UNLINK', 'jobs:steps:' .. job.jid, 'jobs:stream:' .. job.jid)
    end
  end
  return redis.call('ZREMRANGEBYRANK', 'dead', 0, drop - 1)
end

--- part countTotals
-- Adds to the overall total, and to that of the day (UTC).
local function countTotals(now, name, more)
  if more == 0 then return end
  -- The civil date of a day number, counted in eras of 400 years that begin on 1 March.
  local days = math.floor(now / 86400000) + 719468
  local era = math.floor(days / 146097)
  local dayOfEra = days - era * 146097
  local yearOfEra = math.floor(
    (dayOfEra - math.floor(dayOfEra / 1460) + math.floor(dayOfEra / 36524) - math.floor(dayOfEra / 146096)) / 365)
  local dayOfYear = dayOfEra - (365 * yearOfEra + math.floor(yearOfEra / 4) - math.floor(yearOfEra / 100))
  local monthFromMarch = math.floor((5 * dayOfYear + 2) / 153)
  local day = dayOfYear - math.floor((153 * monthFromMarch + 2) / 5) + 1
  local month = monthFromMarch < 10 and monthFromMarch + 3 or monthFromMarch - 9
  local year = yearOfEra + era * 400 + (month <= 2 and 1 or 0)

  local total = 'stat:' .. name
  local daily = string.format('%s:%04d-%02d-%02d', total, year, month, day)
  redis.call('INCRBY', total, more)
  redis.call('INCRBY', daily, more)
  redis.call('EXPIRE', daily, 157680000)
end
