--- script move(done; now, number, keepMs, maxDead, maxDeadAgeMs, maxRecords, wire, moves[from, position, old, to, new, jid, record, ttl, body, follow[queue, payload]]) allow-oom: job addMember endDebounce replace trimDead takeOut failParent endJob groups batch flow records pushOnce streams events
-- Compare and move: moves each entry from one place to another if its member is still there, byte for byte. Sent again
-- because its reply was lost, it moves nothing, and returns the same.
--
-- done     jobs:mover:CLIENT, the number of that client's last script, and its result
-- number   of this script
-- keepMs   how long to keep its result
-- maxDead, maxDeadAgeMs  limits of `dead`
-- moves    from: key of its place (queue:NAME, or a set); position: that in a queue; old: its member; to: key of its new place
--           (queue:NAME, to its back; dead; "" to delete it); new: its new member, "" if unchanged; jid: that of a job that
--           ends with this, whose unique lock is released, "" for none; record: jid of the record to keep, "" for none; ttl: in
--           ms, "" without a limit; body; follow: jobs to push, their payloads without closing brace
-- Result   a string with, per entry, 1 if it was moved, 0 if its member doesn't exist, ? if it isn't near its position;
--          now in ms; ms until the earliest member of `retry` or `schedule` ("" if both are empty)
-- O(log M) per entry of a set of M members. Entries of a queue: see `takeOut`; one walk from the nearer end for all

local call = redis.call

local function isQueue(key) return string.sub(key, 1, 6) == 'queue:' end

local function move()
  -- Fail on a key of the wrong type before anything is written.
  local queues = {}
  for _, entry in ipairs(moves) do
    for _, key in ipairs({ entry.from, entry.to }) do
      if isQueue(key) then queues[key] = true elseif key ~= '' then call('ZCARD', key) end
    end
  end
  for key in pairs(queues) do checkQueue(string.sub(key, 7)) end
  call('ZCARD', 'dead')
  call('ZCARD', 'jobs:ended')

  local mark = done .. ':' .. number
  local moved = {}
  local buried = false
  for _, entry in ipairs(moves) do
    local from, old, to, new, jid, recorded = entry.from, entry.old, entry.to, entry.new, entry.jid, entry.record
    local state = '1'
    if isQueue(from) then
      if not takeOut(from, tonumber(entry.position), old, mark) then state = '?' end
    elseif call('ZREM', from, old) == 0 then
      state = '0'
    elseif from == 'schedule' then
      apart(endDebounce, old)
    end
    if state == '1' then
      if new == '' then new = old end
      if isQueue(to) then
        call('LPUSH', to, new)
        apart(noteReplaceable, to, new)
        apart(notePush, string.sub(to, 7), 1)
      elseif to == 'dead' then
        buried = true
        addMember('dead', now, new)
        apart(recordEnd, now, '"type":"dead"', new)
      end
      if jid ~= '' then
        apart(endJob, jid, to == '')
        apart(failParentOf, now, old, to ~= '' and 'Killed' or recorded ~= '' and 'Cancelled' or 'Deleted')
      end
      local batch, counted, node = memberOf(old)
      if batch then
        local _, new = memberOf(new)
        local how = to == '' and (recorded == '' and 'deleted' or 'cancelled') or new
        if how then noteMember(batch, counted, how, node) end
      end
      for _, job in ipairs(entry.follow) do apart(pushOnce, now, wire, job) end
      if recorded ~= '' then
        keepRecord(now, recorded, entry.ttl, entry.body)
        apart(recordEnd, now, '"type":"cancelled"', old)
      end
      if jid ~= '' then apart(endStream, jid) end
    end
    moved[#moved + 1] = state
  end
  sweep(mark)
  apart(listRecords, maxRecords)
  if buried then apart(trimDead, now, maxDead, maxDeadAgeMs) end
  apart(countMembers, now)
  return table.concat(moved)
end

local last, moved = string.match(call('GET', done) or '', '^(%d+) (.*)$')
if not last or tonumber(last) < tonumber(number) then
  moved = move()
  if moved ~= '' then call('SET', done, number .. ' ' .. moved, 'PX', keepMs) end
end

local next = ''
for _, set in ipairs({ 'retry', 'schedule' }) do
  local head = call('ZRANGE', set, 0, 0, 'WITHSCORES')
  if head[2] then
    local wait = math.max(0, math.ceil(head[2] * 1000 - now))
    if next == '' or wait < next then next = wait end
  end
end
return { moved, now, next }

--- part takeOut: groups
-- Takes entries out of queues, each at its position, counted from the front.
--
-- Redis removes an entry of a list only by its value, and compares every entry between it and one end: 60 ns each. So
-- `takeOut` first overwrites the entries at their positions with a mark, which jumps from node to node. Then `sweep` removes
-- all marks of a queue in one walk from the nearer end.
local NEARBY = 1000
local MAX_COMPARED_ENTRIES, MAX_COMPARED_BYTES = 10000, 2097152
local LONG_QUEUE = 100000
-- Queues with marked entries, by their keys.
local marked = {}

-- Returns the position of an entry up to NEARBY places from its last position: workers have taken jobs since, or released
-- some. Returns nil if it isn't there, or if the script has reached its limit of comparisons.
local function positionNear(queue, key, wanted, payload)
  for _, direction in ipairs({ -1, 1 }) do
    local far, step = 0, 8
    while far < NEARBY and queue.entries < MAX_COMPARED_ENTRIES and queue.bytes < MAX_COMPARED_BYTES do
      local from, to = wanted + far + 1, wanted + far + step
      if direction < 0 then from, to = wanted - far - step, wanted - far - 1 end
      from, to = math.max(0, from), math.min(to, queue.size - 1)
      if from > to then break end
      for i, one in ipairs(redis.call('LRANGE', key, -to - 1, -from - 1)) do
        if one == payload then return to - i + 1 end
        queue.entries, queue.bytes = queue.entries + 1, queue.bytes + #one
      end
      far, step = far + step, 2 * step
    end
  end
  return nil
end

-- Marks an entry for removal. Returns false if it isn't near its position, or if a script that already walks through one half
-- of a long queue would have to walk through the other.
local function takeOut(key, position, payload, mark)
  local queue = marked[key]
  if not queue then
    queue = { size = redis.call('LLEN', key), shift = 0, entries = 0, bytes = 0, front = 0, back = 0 }
    marked[key] = queue
  end
  -- The other entries of this script have moved as far as the one before.
  local at = math.max(0, position + queue.shift)
  if redis.call('LINDEX', key, -at - 1) ~= payload then
    at = positionNear(queue, key, at, payload)
    if not at then return false end
    queue.shift = at - position
  end
  local half = 2 * at < queue.size and 'front' or 'back'
  if queue.size > LONG_QUEUE and queue[half == 'front' and 'back' or 'front'] > 0 then return false end
  redis.call('LSET', key, -at - 1, mark)
  queue[half] = queue[half] + 1
  return true
end

-- Removes all marks.
local function sweep(mark)
  for key, queue in pairs(marked) do
    if queue.front > 0 then redis.call('LREM', key, -queue.front, mark) end
    if queue.back > 0 then redis.call('LREM', key, queue.back, mark) end
    noteRemoval(string.sub(key, 7), queue.front + queue.back)
  end
end

--- part failParent: job steps
-- Fails the step of another job that waits for the end of this one, because an operator has
-- ended it.
local function failParentOf(now, payload, how)
  local job = jobWith(payload, 'parent"')
  local parent = job and job.parent
  if type(parent) ~= 'table' or type(parent.jid) ~= 'string' or type(parent.step) ~= 'string' then return end
  local error = '{"class":"' .. how .. '","message":"An operator ended the job"}'
  finishWait(now, parent.jid, parent.step, '"error":' .. error .. ',"final":true', 'failed', job.jid)
end

--- part endJob: job unlock steps endCronJob
-- Releases the lock, the cron entry and the steps of a job, because it has left
-- the store (`isGone`) or is dead.
-- `settle` does the same for many jobs. A dead job keeps its steps: it may be retried.
local function endJob(jid, isGone)
  apart(unlock, jid)
  apart(endCronJob, jid)
  if not isGone then return apart(leaveAllWaiting, jid) end
  local steps = 'jobs:steps:' .. jid
  local names = redis.pcall('HKEYS', steps)
  if names.err or #names == 0 then return end
  forgetWaits(steps, names)
  redis.call('UNLINK', steps)
end
