-- Included after job.lua and groups.lua: the counters of batches, in the hashes jobs:batch:ID. They follow the marks in the payloads of members
-- (src/job/batch.ts). A script notes the changes of members, and applies them once, at its end, with `countMembers`.
local noted, notedIds, notedNodes

local function changesOf(id)
  if not noted then noted, notedIds = {}, {} end
  if not noted[id] then
    noted[id] = {}
    notedIds[#notedIds + 1] = id
  end
  return noted[id]
end

-- from: the state in which the batch counts the members, "" if they are new; to: their new state.
local function noteMembers(id, from, to, count)
  if from == to or count == 0 then return end
  local changes = changesOf(id)
  if from == '' then changes.total = (changes.total or 0) + count else changes[from] = (changes[from] or 0) - count end
  changes[to] = (changes[to] or 0) + count
end

-- The same for one member. node: its name, if the batch is a flow.
local function noteMember(id, from, to, node, result)
  if node then
    notedNodes = notedNodes or {}
    notedNodes[#notedNodes + 1] = { id, node, to, result or '' }
  end
  noteMembers(id, from, to, 1)
end

-- Notes that nodes of a flow begin to wait, or no longer wait.
local function noteWaiting(id, by)
  local changes = changesOf(id)
  changes.waiting = (changes.waiting or 0) + by
end

-- Returns the batch that counts a payload's job, the state in which it does, and the job's node if the batch is a flow.
local function memberOf(payload)
  local job = jobWith(payload, 'batch_counted"')
  if not job or type(job.batch) ~= 'string' then return end
  if job.batch_counted ~= 'pending' and job.batch_counted ~= 'dead' then return end
  return job.batch, job.batch_counted, type(job.flow_node) == 'string' and job.flow_node or nil
end

local function isRunningIn(id, worker, token)
  if worker == '' then return false end
  local payload = redis.pcall('HGET', 'jobs:leases:' .. worker, token)
  return type(payload) == 'string' and memberOf(payload) == id
end

-- Returns why a batch accepts no member; nil if it does. worker, token: the lease of the member that adds it, or "".
-- isAdmission: the member is running already.
local function refusalOf(id, worker, token, isAdmission)
  local there, closedAs, pending = unpack(redis.call('HMGET', 'jobs:batch:' .. id, 'id', 'closed_as', 'pending'))
  if not there then return 'missing' end
  if not closedAs then return end
  if closedAs == 'closed' and (tonumber(pending or nil) or 0) > 0 and (isAdmission or isRunningIn(id, worker, token)) then return end
  return closedAs
end

-- Returns the name of the queue, or of the group in it, for a payload: port/groups.ts.
local function nameFor(queue, payload)
  local group = groupNamedIn(payload)
  local job = not group and jobWith(payload, 'priority"')
  if job and (job.priority == 'high' or job.priority == 'low') then group = '|' .. job.priority end
  return group and queue .. '|' .. group or queue
end

-- Pushes a job whose jid no other job has. job: queue, payload without its closing brace, at: ms, absent for now.
local function pushOnce(now, wire, job)
  local call = redis.call
  if job.at and job.at > now then
    call('ZADD', 'schedule', string.format('%.3f', job.at / 1000), job.payload .. '}')
    -- It fails where the user may not publish; pollers then see it a second later.
    redis.pcall('PUBLISH', 'jobs:wake', 'due')
    return
  end
  local at = wire == '8' and string.format('%d', now) or string.format('%.3f', now / 1000)
  local payload = job.payload .. ',"enqueued_at":' .. at .. '}'
  local name = nameFor(job.queue, payload)
  local pushed = redis.pcall('LPUSH', 'queue:' .. name, payload)
  -- A queue whose key has another type must not prevent the end of a job: the poller reports it.
  if type(pushed) == 'table' then
    call('SADD', 'queues', job.queue)
    call('ZADD', 'schedule', string.format('%.3f', now / 1000), job.payload .. '}')
  else
    apart(notePush, name, 1)
  end
end

local function pushCallback(now, key, event, parent)
  local queue, payload, wire = unpack(redis.call('HMGET', key, event .. ':queue', event .. ':payload', 'wire'))
  if not queue or not payload then return end
  pushOnce(now, wire, { queue = queue, payload = payload })
  -- The parent batch waits for the callbacks of this one.
  if parent then noteMember(parent, '', 'pending') end
end

-- Applies the consequences of a batch's current counters: callbacks, due times, the state in the parent batch.
local function advanceBatch(now, id, grown)
  local call = redis.call
  local key = 'jobs:batch:' .. id
  local row = call('HMGET', key, 'closed_as', 'pending', 'dead', 'failed', 'succeeded', 'total', 'success_at', 'complete_at',
    'death_at', 'abandoned_at', 'due', 'close_within', 'keep', 'parent', 'counted')
  local closedAs, pending, dead, failed = row[1], tonumber(row[2]), tonumber(row[3]), tonumber(row[4])
  local parent, counted = row[14], row[15]
  local function fire(event, isPushed)
    call('HSET', key, event .. '_at', now)
    if isPushed then pushCallback(now, key, event, parent) end
  end
  if dead + failed > 0 and not row[9] then fire('death', true) end
  if closedAs == 'abandoned' and not row[10] then fire('abandoned', true) end
  local isEnded = closedAs and pending == 0
  -- Members of an abandoned batch may be missing: it is neither complete nor a success.
  if isEnded and not row[8] then fire('complete', closedAs ~= 'abandoned') end
  local hasSucceeded = isEnded and closedAs == 'closed' and row[5] == row[6]
  if hasSucceeded and not row[7] then fire('success', true) end

  local isFinished = isEnded and dead == 0
  local due = nil
  if not closedAs then
    if grown then due = now + row[12] end
  elseif isFinished and not row[11] then
    due = now + row[13]
  elseif not isFinished and row[11] then
    call('HDEL', key, 'due')
    call('ZREM', 'jobs:batches:due', id)
  end
  if due then
    call('HSET', key, 'due', string.format('%.0f', due))
    call('ZADD', 'jobs:batches:due', due, id)
  end

  if not parent or not counted then return end
  local state = 'pending'
  if isEnded then
    if dead > 0 then state = 'dead'
    elseif hasSucceeded then state = 'succeeded'
    else state = closedAs == 'cancelled' and 'cancelled' or 'failed' end
  end
  if state ~= counted then
    call('HSET', key, 'counted', state)
    noteMember(parent, counted, state)
  end
end

local NUMBERS = {
  'version', 'total', 'pending', 'dead', 'succeeded', 'failed', 'cancelled', 'expired', 'deleted', 'close_within', 'keep',
}

-- Returns whether a batch exists with all of its counters. Another program may have made a part of one, under a wrong ID.
local function isBatch(key)
  local row = redis.pcall('HMGET', key, 'waiting', unpack(NUMBERS))
  if row.err or row[1] and not tonumber(row[1]) then return false end
  for i = 2, #NUMBERS + 1 do
    if not string.find(row[i] or '', '^%-?%d+$') then return false end
  end
  return true
end

-- Applies the noted changes, and pushes the callbacks that follow, also those of parent batches.
local function countNoted(now)
  while noted do
    local all, ids = noted, notedIds
    noted, notedIds = nil, nil
    for _, id in ipairs(ids) do
      local key = 'jobs:batch:' .. id
      -- A batch that was removed counts nothing.
      if isBatch(key) then
        for name, by in pairs(all[id]) do
          if by ~= 0 then redis.call('HINCRBY', key, name, by) end
        end
        redis.call('HINCRBY', key, 'version', 1)
        apart(advanceBatch, now, id, all[id].total)
      end
    end
  end
end
