--- part batch: job pushOnce announceBatch
-- The counters of batches, in the hashes jobs:batch:ID. They follow the marks in the payloads of members
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
    if not isPushed then return end
    pushCallback(now, key, event, parent)
    if event == 'complete' then apart(announceBatch, now, id) end
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

--- script batchCreate(key; now, id, parent, worker, token, closeWithin, keep, wire, flow, spec, once, onceFor, fingerprint, callbacks[event, queue, payload]): onceKeys batch flow
-- Opens a batch. Sent again because its reply was lost, it changes nothing.
--
-- key      jobs:batch:ID
-- parent   "" for none; worker, token: the lease of its running member that adds this one, "" for none
-- closeWithin, keep, onceFor  in ms
-- wire     7 or 8
-- flow     "1", or ""
-- spec     description for operators and other stores (JSON)
-- once     its once key, "" for none
-- callbacks  payload: without its closing brace
-- Result   "", or why the parent accepts no members; or "=" and the ID of the batch that was opened with the once key; or "#" and
--          that ID if the fingerprints differ
-- O(log N) for N batches

local call = redis.call
local list = flow == '' and 'jobs:batches' or 'jobs:flows'
-- Fail on a key of the wrong type before anything is written.
call('ZCARD', list)
call('ZCARD', 'jobs:batches:due')
if call('HEXISTS', key, 'id') == 1 then return '' end
local onceKey = 'jobs:once:' .. once
if once ~= '' then
  local first, mark = holderIn(now, call('GET', onceKey))
  -- Nothing of an abandoned flow has run.
  if first and redis.pcall('HGET', 'jobs:batch:' .. first, 'closed_as') ~= 'abandoned' then
    return (mark ~= '' and fingerprint ~= '' and mark ~= fingerprint and '#' or '=') .. first
  end
end
local refusal = parent ~= '' and refusalOf(parent, worker, token)
if refusal then return refusal end
local due = string.format('%.0f', now + closeWithin)
call('HSET', key, 'id', id, 'spec', spec, 'created', now, 'close_within', closeWithin, 'keep', keep, 'wire', wire,
  'due', due, 'version', 0, 'total', 0, 'pending', 0, 'dead', 0, 'succeeded', 0, 'failed', 0, 'cancelled', 0,
  'expired', 0, 'deleted', 0)
if flow ~= '' then call('HSET', key, 'flow', 1, 'waiting', 0) end
for _, callback in ipairs(callbacks) do
  call('HSET', key, callback.event .. ':queue', callback.queue, callback.event .. ':payload', callback.payload)
end
if once ~= '' then call('SET', onceKey, lineOf(now + onceFor, id, fingerprint), 'PX', onceFor + 60000) end
call('ZADD', list, 0, id)
call('ZADD', 'jobs:batches:due', due, id)
if parent ~= '' then
  call('HSET', key, 'parent', parent, 'counted', 'pending')
  noteMember(parent, '', 'pending')
  countMembers(now)
end
return ''

--- script batchAdmit(leases; now, token, id) allow-oom: batch flow
-- Counts a member that was pushed without being counted, and marks its payload. Sent again, it returns the same.
--
-- leases   jobs:leases:WORKER
-- Result   its new payload; false if the lease is lost, or the batch accepts no members
-- O(N) for a payload of N bytes

local call = redis.call
local payload = call('HGET', leases, token)
if not payload then return false end
if memberOf(payload) then return payload end
local members = string.match(payload, '^(.*)}%s*$')
if not members or refusalOf(id, '', '', true) then return false end
payload = members .. ',"batch_counted":"pending"}'
call('HSET', leases, token, payload)
noteMember(id, '', 'pending')
countMembers(now)
return payload

--- script batchCount(; id, maxJobs, maxBytes) no-writes: batch
-- Counts the members of a batch in all places, at one moment, if the store has few jobs.
--
-- maxJobs  and batches
-- Result   "large" if there are more; nothing for an unknown batch; else pending, dead, then its fields and values
-- O(N) for N jobs and batches

local call = redis.call
local left, bytes = tonumber(maxJobs), tonumber(maxBytes)
local row = call('HGETALL', 'jobs:batch:' .. id)
if #row == 0 then return {} end

-- The places, each with its size and a function that reads `count` payloads from a position on.
local places = {}
local function add(size, read)
  if type(size) ~= 'number' or size == 0 then return end
  left = left - size
  places[#places + 1] = { size, read }
end
local function addList(name)
  local key = 'queue:' .. name
  add(redis.pcall('LLEN', key), function(from, count) return call('LRANGE', key, from, from + count - 1) end)
end
for _, set in ipairs({ 'schedule', 'retry', 'dead' }) do
  add(call('ZCARD', set), function(from, count) return call('ZRANGE', set, from, from + count - 1) end)
end
for _, worker in ipairs(call('ZRANGE', 'jobs:workers', 0, -1)) do
  local key = 'jobs:leases:' .. worker
  local size = call('HLEN', key)
  local tokens = size > 0 and size <= left and call('HKEYS', key) or {}
  add(size, function(from, count) return call('HMGET', key, unpack(tokens, from + 1, math.min(size, from + count))) end)
end
for _, queue in ipairs(call('SMEMBERS', 'queues')) do
  addList(queue)
  for _, state in ipairs({ 'ready', 'held', 'aside' }) do
    local set = 'jobs:groups:' .. state .. ':' .. queue
    -- Each has a job.
    local groups = left > 0 and redis.pcall('ZRANGE', set, 0, left) or {}
    for _, group in ipairs(groups) do addList(queue .. '|' .. group) end
  end
end
left = left - call('ZCARD', 'jobs:batches') - call('ZCARD', 'jobs:flows')
if left < 0 then return 'large' end

local counts = { pending = 0, dead = 0 }
for _, place in ipairs(places) do
  local from, count = 0, 1
  while from < place[1] do
    for _, payload in ipairs(place[2](from, count)) do
      bytes = bytes - #payload
      if string.find(payload, id, 1, true) then
        local batch, counted = memberOf(payload)
        if batch == id then counts[counted] = counts[counted] + 1 end
      end
    end
    if bytes < 0 then return 'large' end
    from = from + count
    -- It grows, because the sizes are unknown.
    count = math.min(2 * count, 64)
  end
end
for _, list in ipairs({ 'jobs:batches', 'jobs:flows' }) do
  for _, other in ipairs(call('ZRANGE', list, 0, -1)) do
    local parent, counted = unpack(redis.pcall('HMGET', 'jobs:batch:' .. other, 'parent', 'counted'))
    if parent == id and counts[counted] then counts[counted] = counts[counted] + 1 end
  end
end
return { counts.pending, counts.dead, unpack(row) }

--- script batchCorrect(; now, id, version, pending, dead) allow-oom: job batch flow
-- Corrects the counters of the members that are in the store, if the batch has not changed since it was read.
--
-- version  as read
-- Result   1 if it corrected them, else 0
-- O(log N) for N batches

local call = redis.call
local key = 'jobs:batch:' .. id
local known, wasPending, wasDead = unpack(call('HMGET', key, 'version', 'pending', 'dead'))
if known ~= version or not isBatch(key) then return 0 end
call('ZCARD', 'jobs:batches:due')
call('HINCRBY', key, 'total', pending - wasPending + dead - wasDead)
call('HSET', key, 'pending', pending, 'dead', dead)
call('HINCRBY', key, 'version', 1)
apart(advanceBatch, now, id)
apart(countMembers, now)
return 1

--- part closeBatch: job batch flow
-- Closes a batch. Returns 1 if this call closed it, else 0; then how the batch is closed now; then how many waiting
-- nodes of a flow this call cancelled. Returns nothing if the batch doesn't exist.
local function closeBatch(now, id, as)
  local call = redis.call
  local key = 'jobs:batch:' .. id
  local there, closedAs, due, waiting = unpack(call('HMGET', key, 'id', 'closed_as', 'due', 'waiting'))
  if not there or not isBatch(key) then return end
  -- A closed batch that has not ended can still be cancelled.
  if closedAs and not (as == 'cancelled' and closedAs == 'closed' and not due) then return 0, closedAs end
  -- Fail on a key of the wrong type before anything is written.
  call('ZCARD', 'jobs:batches:due')
  local flow = 'jobs:flow:' .. id
  call('HLEN', flow)
  for _, list in ipairs({ flow .. ':nodes', flow .. ':roots', 'jobs:flows:pending' }) do call('LLEN', list) end
  call('HSETNX', key, 'closed', now)
  call('HSET', key, 'closed_as', as)
  call('HDEL', key, 'due')
  call('ZREM', 'jobs:batches:due', id)
  apart(advanceBatch, now, id)
  apart(countMembers, now)
  apart(endFlow, now, id, as)
  return 1, as, as == 'closed' and 0 or tonumber(waiting or 0)
end

--- script batchClose(; now, id, as) allow-oom: closeBatch
-- Closes a batch.
--
-- as       "closed", "cancelled" or "abandoned"
-- Result   1 if this call closed it, else 0; how it is closed now; the waiting nodes that this call cancelled. Empty for an
--          unknown batch
-- O(log N) for N batches, and for each parent batch

return { closeBatch(now, id, as) }

--- script batchPage(list; after, limit) no-writes
-- Reads a page of batches or flows, the latest first.
--
-- list     jobs:batches, or jobs:flows
-- after    ID to continue after, "" for the start
-- Result   per batch: its fields and values
-- O(log N + L) for L of N batches

local from = after == '' and '+' or '(' .. after
local rows = {}
for i, id in ipairs(redis.call('ZRANGE', list, from, '-', 'BYLEX', 'REV', 'LIMIT', 0, limit)) do
  rows[i] = redis.call('HGETALL', 'jobs:batch:' .. id)
end
return rows

--- script batchTend(; now, limit, only) allow-oom: job batch flow closeBatch
-- Pushes or cancels nodes after those that have ended, abandons open batches that were not closed in time, and removes finished
-- ones after their retention.
--
-- limit    of the nodes, and of the batches
-- only     "nodes", or ""
-- Result   abandoned, removed, 1 if more is due
-- O(L log N) for a limit of L and N batches, and the length of the lists of names

local call = redis.call
limit = tonumber(limit)
-- Fail on a key of the wrong type before anything is written.
call('LLEN', 'jobs:flows:pending')
for _, set in ipairs({ 'jobs:batches', 'jobs:batches:due', 'jobs:flows' }) do call('ZCARD', set) end
spread(now, limit)
countMembers(now)
local due = only == '' and call('ZRANGE', 'jobs:batches:due', '-inf', now, 'BYSCORE', 'LIMIT', 0, limit + 1) or {}
local abandoned, removed = 0, 0
for i = 1, math.min(limit, #due) do
  local key = 'jobs:batch:' .. due[i]
  if isBatch(key) and call('HEXISTS', key, 'closed_as') == 0 then
    abandoned = abandoned + (apart(closeBatch, now, due[i], 'abandoned') or 0)
  else
    call('UNLINK', key)
    local flow = 'jobs:flow:' .. due[i]
    call('UNLINK', flow, flow .. ':nodes', flow .. ':roots')
    call('ZREM', 'jobs:batches', due[i])
    call('ZREM', 'jobs:flows', due[i])
    call('ZREM', 'jobs:batches:due', due[i])
    removed = removed + 1
  end
end
return { abandoned, removed, (#due > limit or call('EXISTS', 'jobs:flows:pending') == 1) and 1 or 0 }
