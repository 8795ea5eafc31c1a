--- part steps: job
-- The records of steps (src/job/step.ts), by name in the hash jobs:steps:JID. Its field without a name is the score
-- of the job in `schedule`, or "wake": a wait ended while the job ran, and the job must not sleep.
-- The hash jobs:waits has the number of waits by kind and by the hour in which their time passes: an entry per wait would take as
-- much memory as half of the job. A wait that is left there when its job has ended counts until that hour has passed.
local WAITS, HOUR_MS = 'jobs:waits', 3600000
-- Longer waits are counted by day, so that the hash stays small: for a year it has 1,440 hours and 305 days at most.
local LONG_WAIT_MS = 60 * 24 * HOUR_MS
-- No record of a wait is longer. Those of ended steps may have a megabyte.
local MAX_WAIT_BYTES = 8192
local WAITING = '^{"state":"waiting","until":(%d+),"since":(%d+)(.*)}$'

-- A record without a kind is that of a sleep.
local function kindOf(record)
  return string.match(record, ',"kind":"(%a+)"') or 'sleep'
end

-- Returns the field of jobs:waits that counts a wait: "KIND HOUR", the end of the hour or day in which its time passes.
local function countedIn(record)
  local untilMs, since = string.match(record, WAITING)
  local hours = untilMs - since > LONG_WAIT_MS and 24 or 1
  return string.format('%s %.0f', kindOf(record), math.ceil(untilMs / HOUR_MS / hours) * hours)
end

-- Counts a wait that begins. Forgets up to two hours that have passed, which is more than begin.
local function countWait(now, record)
  redis.call('HINCRBY', WAITS, countedIn(record), 1)
  for _, field in ipairs(redis.call('HRANDFIELD', WAITS, 2)) do
    local hour = tonumber(string.match(field, '%d+$') or nil)
    if not hour or hour * HOUR_MS <= now then redis.call('HDEL', WAITS, field) end
  end
end

-- No longer counts a wait. Does nothing if the record isn't that of a wait.
local function uncountWait(record)
  if not string.match(record, WAITING) then return end
  local field = countedIn(record)
  if redis.call('HINCRBY', WAITS, field, -1) <= 0 then redis.call('HDEL', WAITS, field) end
end

-- Returns a record as a table; an empty one if it can't be read.
local function recordIn(text)
  local fine, record = pcall(cjson.decode, text)
  return fine and type(record) == 'table' and record or {}
end

-- jobs:waiting:KEY has the waits for a signal, "BYTES_OF_JID JID NAME", in the order in which they began (sorted set). A wait leaves it when it
-- ends, and when its job dies: a signal must not go to a dead job.
local function waiterOf(jid, name) return #jid .. ' ' .. jid .. ' ' .. name end

-- Returns jid and name of a member of that set; nil for another text.
local function waiterIn(text)
  local bytes, rest = string.match(text, '^(%d+) (.*)$')
  if not bytes then return nil end
  return string.sub(rest, 1, bytes), string.sub(rest, bytes + 2)
end

-- jobs:waiting has all of them, by the time at which they time out. Nothing but the list of waits reads it.
local ALL_WAITING, DAY_MS = 'jobs:waiting', 86400000

-- Lets Redis delete a key a day after the last of its waits has timed out: a wait of a job that has ended may be left in it.
local function keepDayAfter(key, forMs)
  local ttl = string.format('%.0f', forMs + DAY_MS)
  if redis.call('PTTL', key) < tonumber(ttl) then redis.call('PEXPIRE', key, ttl) end
end

-- Lists a wait. Forgets up to two that timed out more than a day ago, which is more than begin: another program may have deleted
-- their jobs.
local function listWaiting(now, member, untilMs)
  local call = redis.call
  call('ZADD', ALL_WAITING, string.format('%.0f', untilMs), member)
  keepDayAfter(ALL_WAITING, untilMs - now)
  local past = call('ZRANGE', ALL_WAITING, '-inf', string.format('%.0f', now - DAY_MS), 'BYSCORE', 'LIMIT', 0, 2)
  if #past > 0 then call('ZREM', ALL_WAITING, unpack(past)) end
end

local function joinWaiting(now, jid, name, key, forMs)
  local call = redis.call
  local waiters, member = 'jobs:waiting:' .. key, waiterOf(jid, name)
  if call('ZSCORE', waiters, member) then return end
  -- The clock may have been set back.
  local last = tonumber(call('ZRANGE', waiters, -1, -1, 'WITHSCORES')[2] or 0)
  call('ZADD', waiters, string.format('%.3f', math.max(now, last + 0.001)), member)
  keepDayAfter(waiters, forMs)
  apart(listWaiting, now, member, now + forMs)
end

-- Takes the oldest signal that is kept for a key. Returns its JSON text, or nil.
local function takeKept(now, key)
  local kept = redis.call('LPOP', 'jobs:signals:' .. key)
  while kept do
    local expires, data = string.match(kept, '^(%d+) (.*)$')
    if expires and tonumber(expires) > now then return data end
    kept = redis.call('LPOP', 'jobs:signals:' .. key)
  end
end

-- Does nothing if the record isn't that of a wait for a signal.
local function leaveWaiting(jid, name, record)
  if kindOf(record) ~= 'wait' or not string.match(record, WAITING) then return end
  local key = recordIn(record).key
  if type(key) ~= 'string' then return end
  redis.pcall('ZREM', 'jobs:waiting:' .. key, waiterOf(jid, name))
  redis.pcall('ZREM', ALL_WAITING, waiterOf(jid, name))
end

-- The same for all waits of a job. O(N) for N steps.
local function leaveAllWaiting(jid)
  local steps = 'jobs:steps:' .. jid
  for _, name in ipairs(redis.call('HKEYS', steps)) do
    if redis.call('HSTRLEN', steps, name) <= MAX_WAIT_BYTES then
      leaveWaiting(jid, name, redis.call('HGET', steps, name) or '')
    end
  end
end

-- Forgets those waits of a job that have these names. O(N) for N names.
local function forgetWaits(steps, names)
  for _, name in ipairs(names) do
    if redis.call('HSTRLEN', steps, name) <= MAX_WAIT_BYTES then
      local record = redis.call('HGET', steps, name) or ''
      leaveWaiting(string.sub(steps, 12), name, record)
      apart(uncountWait, record)
    end
  end
end

local function endedRecord(record, now, outcome, state)
  local _, since, about = string.match(record, WAITING)
  return string.format('{"state":"%s","since":%s,"ended":%.0f', state, since, now) .. about ..
    (outcome == '' and '' or ',' .. outcome) .. '}'
end

-- Writes the end of a wait. Returns its record.
local function endWait(now, jid, name, record, outcome, state)
  local ended = endedRecord(record, now, outcome, state)
  redis.call('HSET', 'jobs:steps:' .. jid, name, ended)
  leaveWaiting(jid, name, record)
  apart(uncountWait, record)
  return ended
end

-- The same for a wait whose time has passed. A sleep ends without a timeout.
local function passWait(now, jid, name, record)
  return endWait(now, jid, name, record, kindOf(record) == 'sleep' and '' or '"timedOut":true', 'succeeded')
end

-- A child named by no record is any.
local function waitsForChild(record, child)
  local waited = recordIn(record).child
  return waited == nil or waited == child
end

-- Returns whether a payload is that of a job. Its jid may be escaped.
local function isJob(payload, jid)
  if not string.find(payload, jid, 1, true) and not string.find(payload, '\\', 1, true) then return false end
  local job = jobWith(payload, 'jid"')
  return job ~= nil and job.jid == jid
end

-- Returns the member of `schedule` that is a sleeping job; nil for a job that doesn't sleep. O(log M + K) for K of M members that are due
-- in the same millisecond.
local function sleeping(jid)
  local score = redis.call('HGET', 'jobs:steps:' .. jid, '')
  local from = 0
  while score and score ~= 'wake' do
    local members = redis.pcall('ZRANGE', 'schedule', score, score, 'BYSCORE', 'LIMIT', from, 100)
    if members.err then return nil end
    for _, member in ipairs(members) do
      if isJob(member, jid) then return member end
    end
    if #members < 100 then return nil end
    from = from + 100
  end
end

-- Makes a sleeping job due. A running job gets the mark "wake", which prevents its sleep.
local function makeDue(now, jid)
  local call = redis.call
  local steps, member = 'jobs:steps:' .. jid, sleeping(jid)
  if not member then
    call('HSET', steps, '', 'wake')
    return
  end
  call('ZADD', 'schedule', 'XX', 'LT', string.format('%.3f', now / 1000), member)
  call('HDEL', steps, '')
  -- The user may lack the permission to publish: pollers then see the job a second later.
  redis.pcall('PUBLISH', 'jobs:wake', 'due')
end

-- Ends a wait that has not ended, and makes its job due. child: the jid of the job whose end ends it, if one does. A step that
-- was run again waits for another one.
local function finishWait(now, jid, name, outcome, state, child)
  local steps = 'jobs:steps:' .. jid
  local record = redis.pcall('HGET', steps, name)
  if type(record) ~= 'string' or not string.match(record, WAITING) then return false end
  if child and not waitsForChild(record, child) then return false end
  endWait(now, jid, name, record, outcome, state)
  makeDue(now, jid)
  return true
end

--- part noteSleep
-- Notes that a job with steps sleeps until a time in ms. Returns that time, or now if a wait ended while the job ran.
local function noteSleep(now, jid, at)
  local call = redis.call
  local steps = 'jobs:steps:' .. jid
  if call('EXISTS', steps) == 0 then return at end
  if call('HGET', steps, '') == 'wake' then
    call('HDEL', steps, '')
    return now
  end
  call('HSET', steps, '', string.format('%.3f', at / 1000))
  return at
end

--- script stepRemember(leases, hashes[]; steps[token, name, record])
-- Writes steps of jobs under their leases, except those that have succeeded already.
--
-- leases   jobs:leases:WORKER
-- hashes   per step: jobs:steps:JID
-- Result   per step that was not written: place (from 1), and the stored record of a step that had succeeded, or false if the
--          worker has lost the lease
-- O(N) for N steps

local call = redis.call
local result = {}
local function reject(place, record)
  result[#result + 1] = place
  result[#result + 1] = record
end
for place, step in ipairs(steps) do
  local key, name, record = hashes[place], step.name, step.record
  if call('HEXISTS', leases, step.token) == 0 then
    reject(place, false)
  elseif call('HSETNX', key, name, record) == 0 then
    local present = call('HGET', key, name)
    if string.sub(present, 1, 21) == '{"state":"succeeded",' then
      reject(place, present)
    else
      call('HSET', key, name, record)
    end
  end
end
return result

--- script stepWait(leases, steps, done; now, token, jid, name, about, forMs, after, key, wire, queue, payload, at, delayMs, keepMs): job addMember groups steps
-- Begins or continues a wait of a job, under its lease.
--
-- leases   jobs:leases:WORKER
-- steps    jobs:steps:JID
-- done     jobs:waited:JID of its child job
-- about    JSON members of the record
-- after    when the job's last step began
-- key      that of its signal, "" for none
-- wire     7 or 8
-- queue    that of its child job, "" for none; its payload, and when it is due ("" for now): at or in delayMs
-- keepMs   how long this call may be repeated
-- Result   its record, ms until it times out; false if the worker has lost the lease
-- O(1), and O(log M) for a scheduled child, with M members of `schedule`

local call = redis.call
forMs, after = tonumber(forMs), tonumber(after)

if call('HEXISTS', leases, token) == 0 then return false end
local present = call('HGET', steps, name)
if present then
  local untilMs = tonumber((string.match(present, WAITING)))
  if not untilMs then return { present, '0' } end
  if untilMs > now then
    -- The job may have been dead, and was retried: a signal of that time is kept.
    local kept = key ~= '' and takeKept(now, key)
    if kept then return { endWait(now, jid, name, present, '"value":' .. kept, 'succeeded'), '0' } end
    if key ~= '' then joinWaiting(now, jid, name, key, untilMs - now) end
    return { present, string.format('%.0f', untilMs - now) }
  end
  return { passWait(now, jid, name, present), '0' }
end

-- Fail on a key of the wrong type before anything is written.
call('HLEN', 'jobs:waits')
if key ~= '' then
  call('LLEN', 'jobs:signals:' .. key)
  call('ZCARD', 'jobs:waiting:' .. key)
end
if queue ~= '' then
  checkQueue(queue)
  call('ZCARD', 'schedule')
end
local waiting = string.format('{"state":"waiting","until":%.0f,"since":%.0f', now + forMs, math.max(now, after + 1)) ..
  (about == '' and '' or ',' .. about) .. '}'
-- The step of a child that has begun is gone: an operator has deleted it since the attempt read it, or since this call ran and its
-- reply was lost. Stored again, it would wait for a child that may have ended. The job is due, and begins another child.
local hasBegun = kindOf(waiting) == 'child' and (queue == '' or call('EXISTS', done) == 1)
if hasBegun then return { waiting, string.format('%.0f', forMs) } end
if key ~= '' then
  local kept = takeKept(now, key)
  if kept then
    local ended = endedRecord(waiting, now, '"value":' .. kept, 'succeeded')
    call('HSET', steps, name, ended)
    return { ended, '0' }
  end
  joinWaiting(now, jid, name, key, forMs)
end
call('HSET', steps, name, waiting)
apart(countWait, now, waiting)

if queue ~= '' then
  call('SET', done, '1', 'PX', keepMs)
  local due = delayMs ~= '' and now + delayMs or tonumber(at) or now
  if due <= now then
    local enqueuedAt = wire == '8' and string.format('%.0f', now) or string.format('%.3f', now / 1000)
    call('LPUSH', 'queue:' .. queue, string.sub(payload, 1, -2) .. ',"enqueued_at":' .. enqueuedAt .. '}')
    notePush(queue, 1)
  else
    addMember('schedule', due, payload)
    redis.pcall('PUBLISH', 'jobs:wake', 'due')
  end
end
return { waiting, string.format('%.0f', forMs) }

--- script stepWake(steps; now, jid): steps
-- Ends the sleeps and waits of a job as if their time had passed, and makes it due.
--
-- steps    jobs:steps:JID
-- Result   how many it ended
-- O(N) for N steps of the job

local call = redis.call
local ended = 0
local rows = call('HGETALL', steps)
for i = 1, #rows, 2 do
  if string.match(rows[i + 1], WAITING) then
    passWait(now, jid, rows[i], rows[i + 1])
    ended = ended + 1
  end
end
if ended > 0 then makeDue(now, jid) end
return ended

--- script stepClear(steps; now, jid, names[]): steps
-- Deletes steps of a job. A job whose wait is deleted becomes due: nothing else would end the wait.
--
-- steps    jobs:steps:JID
-- names    none: all steps
-- Result   how many it deleted
-- O(N) for N steps

local call = redis.call
local cleared = {}
for _, name in ipairs(#names > 0 and names or call('HKEYS', steps)) do
  -- The field without a name isn't a step.
  if name ~= '' then cleared[#cleared + 1] = name end
end
local wasWaiting = false
for _, name in ipairs(cleared) do
  if string.match(call('HGET', steps, name) or '', WAITING) then wasWaiting = true end
end
forgetWaits(steps, cleared)
local count = #cleared > 0 and call('HDEL', steps, unpack(cleared)) or 0
if wasWaiting then makeDue(now, jid) end
-- Without steps, the time at which a job wakes is of no use. A mark of a running job stays: it must not sleep.
if call('HLEN', steps) == 1 and call('HGET', steps, '') ~= 'wake' then call('HDEL', steps, '') end
return count

--- script signal(done; now, keepMs, key, data, ttl, maxKept): steps
-- Ends the oldest wait for a key, and makes its job due. Keeps the signal if no job waits. Sent again because its reply was
-- lost, it does nothing, and returns the same.
--
-- done     jobs:signalled:ID, the result of this signal
-- keepMs   how long to keep the result of this signal
-- data     JSON
-- ttl      ms to keep the signal, 0 for not at all
-- Result   jid of the job that received it; "" if none did; false if the key keeps too many; 0 to run it again, because the key has
--          further waits of jobs that have ended
-- O(N log M) for N of M waits for the key whose jobs have ended, at most 1,000

local call = redis.call
ttl = tonumber(ttl)
local earlier = call('GET', done)
if earlier then return earlier end

-- Fail on a key of the wrong type before anything is written.
local kept, waiters = 'jobs:signals:' .. key, 'jobs:waiting:' .. key
call('LLEN', kept)
local waiting = call('ZRANGE', waiters, 0, 999)
for _, waiter in ipairs(waiting) do
  local jid, name = waiterIn(waiter)
  local isReached = jid and finishWait(now, jid, name, '"value":' .. data, 'succeeded')
  call('ZREM', waiters, waiter)
  if isReached then
    call('SET', done, jid, 'PX', keepMs)
    return jid
  end
end
if #waiting == 1000 then return 0 end

if ttl == 0 then
  call('SET', done, '', 'PX', keepMs)
  return ''
end
local function isExpired(text) return text and tonumber(string.match(text, '^(%d+) ') or 0) <= now end
if call('LLEN', kept) >= tonumber(maxKept) then
  while isExpired(call('LINDEX', kept, 0)) do call('LPOP', kept) end
  if call('LLEN', kept) >= tonumber(maxKept) then return false end
end
call('RPUSH', kept, string.format('%.0f ', now + ttl) .. data)
if call('PTTL', kept) < ttl then call('PEXPIRE', kept, string.format('%.0f', ttl + 60000)) end
call('SET', done, '', 'PX', keepMs)
return ''

--- script stepWaits(list; limit, maxBytes, score, after) no-writes: steps
-- Reads a page of the steps that wait for signals.
--
-- list     jobs:waiting, or jobs:waiting:KEY for one key
-- maxBytes of payloads; the first is returned whatever its size
-- score, after  the last member of the page before, and its score; "" for the first page
-- Result   score and member of the last one that was read, both "" at the end of the list; then per wait its key, jid, name, record
--          and the payload of the job if it sleeps, or false
-- O(N log M) for N of M waits, and the members of `schedule` that are due in the same millisecond as their jobs

local call = redis.call
limit, maxBytes = tonumber(limit), tonumber(maxBytes)
local from = 0
if after ~= '' then
  -- Without that member, those with its score that sort before it were on the page.
  local rank = call('ZRANK', list, after)
  from = rank and rank + 1 or call('ZCOUNT', list, '-inf', '(' .. score)
end
local members = call('ZRANGE', list, from, from + limit, 'WITHSCORES')
local result = { '', '' }
for i = 1, math.min(#members, limit * 2), 2 do
  local member, at = members[i], members[i + 1]
  local jid, name = waiterIn(member)
  local record = jid and (at ~= score or member > after) and redis.pcall('HGET', 'jobs:steps:' .. jid, name)
  local key = type(record) == 'string' and #record <= MAX_WAIT_BYTES and string.match(record, WAITING) and recordIn(record).key
  if type(key) == 'string' then
    local payload = sleeping(jid)
    maxBytes = maxBytes - #(payload or '')
    if maxBytes < 0 and #result > 2 then return result end
    for _, part in ipairs({ key, jid, name, record, payload or false }) do result[#result + 1] = part end
  end
  result[1], result[2] = at, member
end
if #members <= limit * 2 then result[1], result[2] = '', '' end
return result
