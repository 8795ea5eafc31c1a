-- Included: the records of steps (src/job/step.ts), by name in the hash jobs:steps:JID. Its field without a name is the score
-- of the job in `schedule`, or "wake": a wait ended while the job ran, and the job must not sleep.
-- The sorted set jobs:waits:KIND has the waits by their time, as "JID NAME", for their number. A wait that is left there when
-- its job has ended counts until its time has passed.
local WAITING = '^{"state":"waiting","until":(%d+),"since":(%d+)(.*)}$'

-- A record without a kind is that of a sleep.
local function kindOf(record)
  return string.match(record, ',"kind":"(%a+)"') or 'sleep'
end

local function waitsKey(record)
  return 'jobs:waits:' .. kindOf(record)
end

-- Counts a wait that begins. O(log W) for W waits.
local function countWait(now, jid, name, record)
  local key = waitsKey(record)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
  redis.call('ZADD', key, string.match(record, WAITING), jid .. ' ' .. name)
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
  redis.call('ZREM', waitsKey(record), jid .. ' ' .. name)
  return ended
end

-- The same for a wait whose time has passed. A sleep ends without a timeout.
local function passWait(now, jid, name, record)
  return endWait(now, jid, name, record, kindOf(record) == 'sleep' and '' or '"timedOut":true', 'succeeded')
end

-- Makes a sleeping job due. A running job gets the mark "wake", which prevents its sleep. O(log M + K) for K of M members of
-- `schedule` that are due in the same millisecond.
local function makeDue(now, jid)
  local call = redis.call
  local steps = 'jobs:steps:' .. jid
  local score = call('HGET', steps, '')
  local from = 0
  while score and score ~= 'wake' do
    local members = call('ZRANGE', 'schedule', score, score, 'BYSCORE', 'LIMIT', from, 100)
    for _, member in ipairs(members) do
      if string.find(member, '"jid":"' .. jid .. '"', 1, true) then
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

-- Ends a wait that has not ended, and makes its job due.
local function finishWait(now, jid, name, outcome, state)
  local steps = 'jobs:steps:' .. jid
  local record = redis.call('HGET', steps, name)
  if not record or not string.match(record, WAITING) then return false end
  endWait(now, jid, name, record, outcome, state)
  makeDue(now, jid)
  return true
end
