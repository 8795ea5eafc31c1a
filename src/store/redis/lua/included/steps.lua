-- Included after job.lua: the records of steps (src/job/step.ts), by name in the hash jobs:steps:JID. Its field without a name is the score
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

local function joinWaiting(now, jid, name, key, forMs)
  local call = redis.call
  local waiters, member = 'jobs:waiting:' .. key, waiterOf(jid, name)
  if call('ZSCORE', waiters, member) then return end
  -- The clock may have been set back.
  local last = tonumber(call('ZRANGE', waiters, -1, -1, 'WITHSCORES')[2] or 0)
  call('ZADD', waiters, string.format('%.3f', math.max(now, last + 0.001)), member)
  -- Redis deletes the key a day after the last of its waits has timed out.
  local ttl = string.format('%.0f', forMs + 86400000)
  if call('PTTL', waiters) < tonumber(ttl) then call('PEXPIRE', waiters, ttl) end
end

-- Does nothing if the record isn't that of a wait for a signal.
local function leaveWaiting(jid, name, record)
  if kindOf(record) ~= 'wait' or not string.match(record, WAITING) then return end
  local key = recordIn(record).key
  if type(key) == 'string' then redis.pcall('ZREM', 'jobs:waiting:' .. key, waiterOf(jid, name)) end
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

-- Makes a sleeping job due. A running job gets the mark "wake", which prevents its sleep. O(log M + K) for K of M members of
-- `schedule` that are due in the same millisecond.
local function makeDue(now, jid)
  local call = redis.call
  local steps = 'jobs:steps:' .. jid
  local score = call('HGET', steps, '')
  local from = 0
  while score and score ~= 'wake' do
    local members = redis.pcall('ZRANGE', 'schedule', score, score, 'BYSCORE', 'LIMIT', from, 100)
    if members.err then break end
    for _, member in ipairs(members) do
      if isJob(member, jid) then
        call('ZADD', 'schedule', 'XX', 'LT', string.format('%.3f', now / 1000), member)
        call('HDEL', steps, '')
        -- The user may lack the permission to publish: pollers then see the job a second later.
        redis.pcall('PUBLISH', 'jobs:wake', 'due')
        return
      end
    end
    if #members < 100 then break end
    from = from + 100
  end
  call('HSET', steps, '', 'wake')
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
