--- script settle allow-oom: job addMember replace unlock trimDead countTotals returnLease groups steps noteSleep batch flow endCronJob records
-- Ends leases: applies each outcome, deletes the lease, and counts finished and failed jobs, in one step.
--
-- KEYS[1]  jobs:leases:WORKER
-- ARGV     offset of the clock in ms, max members of `dead`, their max age in ms,
--          number of locks, number of records, max number of records that are kept, number of steps, number of
--          jobs with steps that end or die, number of runs; then these:
--          a lock to release: token of its job, key ("": the job is the live job of a cron entry), jid
--          a record to keep: token of its job, jid, TTL in ms ("": without a limit), body
--          a step, five texts in one of three forms:
--            token, jid, "", "asleep", ""                                    the job has steps
--            token, parent's jid, step, "succeeded JID" or "failed JID", members
--                                                                            a step of another job waits for it; members of JSON
--            token, batch, old state, "node", "STATE NAME RESULT"            it is a node of a flow; a result is optional, as JSON
--          a job with steps that ends, or dies: token, jid, "1" if it dies
--          a run of consecutive outcomes that a batch counts alike: place of the first (from 1), number, batch, old and new state
--          then groups in the order of the outcomes: kind, count, and per job
--            "ack", "discard", "release": token
--            "held ack", "held discard": token that the worker holds, unless a rescue took it away
--            "retry", "schedule": token, delay in ms, payload
--            "dead": token, payload ("": unchanged)
-- Result   how many members of `dead` were dropped, then the tokens without a lease
-- O(N + B log M) for N outcomes, B of them into a set of M members

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local leases = KEYS[1]
local locks = tonumber(ARGV[4])
local records = tonumber(ARGV[5])
local steps = tonumber(ARGV[7])
local jobs = tonumber(ARGV[8])
local runs = tonumber(ARGV[9])
local firstRecord = 10 + 3 * locks
local firstStep = firstRecord + 4 * records
local firstJob = firstStep + 5 * steps
local firstRun = firstJob + 3 * jobs
local first = firstRun + 5 * runs
local width = { ack = 1, discard = 1, ['held ack'] = 1, ['held discard'] = 1, release = 1, retry = 3, schedule = 3, dead = 2 }

-- Fail on a key of the wrong type before anything is written.
do
  local i = first
  while i <= #ARGV do
    local kind, last = ARGV[i], i + 1 + width[ARGV[i]] * ARGV[i + 1]
    if kind == 'release' then
      checkCancelled(leases)
      for k = i + 2, last do checkQueue(placeIn(ARGV[k])) end
    elseif width[kind] > 1 then
      call('ZCARD', kind)
      call('ZCARD', 'dead')
    end
    i = last + 1
  end
end

local lost = {}
-- Token → true for each lease that this script has ended. False if no lock, record or step needs it.
local ended = locks + records + steps + jobs > 0 and {}

-- Ends a lease. Returns false if the worker has lost it.
local function endLease(token)
  if call('HDEL', leases, token) == 0 then
    lost[#lost + 1] = token
    return false
  end
  if ended then ended[token] = true end
  return true
end

-- The same for leases that the worker holds. None is missing: a rescue that takes one away leaves a mark. They are deleted
-- together, which is cheaper. If some are missing anyway (on a server that lost its latest writes), only their number is found.
local function endHeldLeases(first, last)
  if call('EXISTS', 'jobs:rescued:' .. string.sub(leases, 13)) == 1 then
    for k = first, last do endLease(ARGV[k]) end
    return
  end
  for from = first, last, 1000 do
    local to = math.min(from + 999, last)
    local missing = to - from + 1 - call('HDEL', leases, unpack(ARGV, from, to))
    for k = to, to - missing + 1, -1 do lost[#lost + 1] = ARGV[k] end
    if ended then
      for k = from, to - missing do ended[ARGV[k]] = true end
    end
  end
end

-- Buries a job whose payload can't be stored as its worker wants. The worker doesn't know that it ends.
local function buryExact(exact)
  addMember('dead', now, withReason(exact))
  local job = jobWith(exact, 'jid"')
  if job and type(job.jid) == 'string' then
    apart(unlock, job.jid)
    if job.has_steps then apart(leaveAllWaiting, job.jid) end
  end
  local batch, counted, node = memberOf(exact)
  if batch then noteMember(batch, counted, 'dead', node) end
end

-- token → jid of a job with steps that begins to sleep
local sleepers = {}
for k = firstStep, firstJob - 1, 5 do
  if ARGV[k + 3] == 'asleep' then sleepers[ARGV[k]] = ARGV[k + 1] end
end

-- Apply the outcomes.
local released = {}
local payloads = {}
local earliest = {}
local dropped = 0
local finished, failed = 0, 0
local i = first
while i <= #ARGV do
  local kind, last = ARGV[i], i + 1 + width[ARGV[i]] * ARGV[i + 1]
  local before = #lost
  if kind == 'ack' or kind == 'discard' then
    for k = i + 2, last do endLease(ARGV[k]) end
  elseif width[kind] == 1 and kind ~= 'release' then
    endHeldLeases(i + 2, last)
  elseif kind == 'release' then
    for k = i + 2, last do
      local token = ARGV[k]
      local payload = not payloads[token] and call('HGET', leases, token)
      if payload then
        released[#released + 1] = token
        payloads[token] = payload
      else
        lost[#lost + 1] = token
      end
    end
  elseif kind == 'dead' then
    for k = i + 2, last, 2 do
      local token, payload = ARGV[k], ARGV[k + 1]
      if payload == '' then payload = call('HGET', leases, token) end
      local exact = payload and exactOf(leases, token, payload)
      payload = exact and withReason(exact) or payload
      if endLease(token) then addMember('dead', now, payload) end
    end
    dropped = dropped + (apart(trimDead, now, ARGV[2], ARGV[3]) or 0)
  else
    for k = i + 2, last, 3 do
      local exact = exactOf(leases, ARGV[k], ARGV[k + 2])
      if endLease(ARGV[k]) then
        if exact then
          buryExact(exact)
        else
          local at = now + ARGV[k + 1]
          if sleepers[ARGV[k]] then at = apart(noteSleep, now, sleepers[ARGV[k]], at) or at end
          earliest[kind] = math.min(earliest[kind] or at, at)
          noteReplaceable(kind, addMember(kind, at, ARGV[k + 2]))
        end
      end
    end
  end
  if kind ~= 'release' and kind ~= 'schedule' then
    local these = tonumber(ARGV[i + 1]) - (#lost - before)
    finished = finished + these
    if kind ~= 'ack' and kind ~= 'held ack' then failed = failed + these end
  end
  i = last + 1
end

-- The last one first, so that the first one ends at the very front: the right end.
for k = #released, 1, -1 do
  local token = released[k]
  apart(returnLease, leases, token, payloads[token])
end

-- Release the unique locks of ended jobs, unless another job holds the lock by now, and end the live jobs of cron entries.
local locked, jids = {}, {}
for k = 10, firstRecord - 1, 3 do
  if ended[ARGV[k]] then
    if ARGV[k + 1] == '' then
      apart(endCronJob, ARGV[k + 2])
    else
      locked[#locked + 1] = 'jobs:unique:' .. ARGV[k + 1]
      jids[#jids + 1] = ARGV[k + 2]
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
for k = firstRecord, firstStep - 1, 4 do
  if ended[ARGV[k]] then keepRecord(now, ARGV[k + 1], ARGV[k + 2], ARGV[k + 3]) end
end
apart(listRecords, ARGV[6])

-- Delete the steps of ended jobs.
local deleted = {}
for k = firstJob, firstRun - 1, 3 do
  if ended[ARGV[k]] then
    if ARGV[k + 2] == '1' then apart(leaveAllWaiting, ARGV[k + 1]) else deleted[#deleted + 1] = 'jobs:steps:' .. ARGV[k + 1] end
  end
end
for from = 1, #deleted, 1000 do
  call('UNLINK', unpack(deleted, from, math.min(from + 999, #deleted)))
end

-- Finish the waits of other jobs for ended jobs, and note the ends of flow nodes.
for k = firstStep, firstJob - 1, 5 do
  local token, jid, step, state, outcome = unpack(ARGV, k, k + 4)
  if ended[token] then
    if state == 'node' then
      local to, node, result = string.match(outcome, '^(%S+) (%S+) ?(.*)$')
      noteMember(jid, step, to, node, result)
      -- The same token counts once.
      ended[token] = nil
    elseif state ~= 'asleep' then
      local how, child = string.match(state, '^(%S+) ?(.*)$')
      apart(finishWait, now, jid, step, outcome, how, child ~= '' and child or nil)
    end
  end
end

-- The tokens of all outcomes in order, and how many times each of them is lost: the same token is settled once.
local tokens, missing
local function findMissing()
  tokens, missing = {}, {}
  local i = first
  while i <= #ARGV do
    local kind, last = ARGV[i], i + 1 + width[ARGV[i]] * ARGV[i + 1]
    for k = i + 2, last, width[kind] do tokens[#tokens + 1] = ARGV[k] end
    i = last + 1
  end
  for _, token in ipairs(lost) do missing[token] = (missing[token] or 0) + 1 end
end

-- Count members of batches, without those whose lease is lost.
for k = firstRun, first - 1, 5 do
  local place, count, batch, from, to = unpack(ARGV, k, k + 4)
  count = tonumber(count)
  if #lost > 0 then
    if not tokens then findMissing() end
    for one = place, place + count - 1 do
      local times = missing[tokens[one]] or 0
      if times > 0 then
        missing[tokens[one]] = times - 1
        count = count - 1
      end
    end
  end
  noteMembers(batch, from, to, count)
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
  local i = first
  while i <= #ARGV do
    local kind, last = ARGV[i], i + 1 + width[ARGV[i]] * ARGV[i + 1]
    for k = i + 2, last, width[kind] do
      local token = ARGV[k]
      local queue = string.match(token, ':([^|]*)') or ''
      local found = counted[queue]
      if found == nil then
        found = countedIn(queue)
        counted[queue] = found
      end
      if found then
        table.insert(found.tokens, token)
        local group = found.groups and string.match(token, '|(.+)$')
        if group then
          found.groups[group] = found.groups[group] or {}
          table.insert(found.groups[group], token)
        end
      end
    end
    i = last + 1
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
    if job and job.has_steps and type(job.jid) == 'string' then redis.call('UNLINK', 'jobs:steps:' .. job.jid) end
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
