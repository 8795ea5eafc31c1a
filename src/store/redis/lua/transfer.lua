--- script announce(announced; id, refs)
-- Announces a batch of entries that is about to be migrated to another store. Only one batch is announced at a time.
--
-- announced jobs:announced, the last batch
-- refs     of the entries of the batch (JSON)
-- Result   ID and refs of the announced batch: this one, or the one before it if that isn't migrated yet
-- O(1)

local call = redis.call
local batch = call('HMGET', announced, 'id', 'refs')
if batch[2] then return batch end
call('DEL', announced)
call('HSET', announced, 'id', id, 'refs', refs)
return { id, refs }

--- script migrateOut(announced; id, entries[place, position, member, jid]) allow-oom: job endDebounce takeOut endJob groups streams
-- Deletes the entries of the announced batch, after the other store has imported them, and ends the batch in the same step.
--
-- announced jobs:announced, the last batch
-- entries  place: its key, queue:NAME or a set; position: that in a queue, else ""; jid: that whose lock is released, "" for none
-- Result   how many were deleted; sent again, it returns the same
-- O(log M) per entry of a set of M members. Entries of a queue: see `takeOut`

local call = redis.call
local known, refs, gone = unpack(call('HMGET', announced, 'id', 'refs', 'gone'))
if known ~= id then return 0 end
if not refs then return tonumber(gone) end

-- Fail on a key of the wrong type before anything is written.
for _, entry in ipairs(entries) do
  if entry.position ~= '' then checkQueue(string.sub(entry.place, 7)) else call('ZCARD', entry.place) end
end

local count = 0
for _, entry in ipairs(entries) do
  local position, member = entry.position, entry.member
  local isThere
  if position ~= '' then
    isThere = takeOut(entry.place, tonumber(position), member, id)
  else
    isThere = call('ZREM', entry.place, member) == 1
    if isThere then apart(endDebounce, member) end
  end
  if isThere then
    count = count + 1
    if entry.jid ~= '' then
      apart(endJob, entry.jid, true)
      apart(endStream, entry.jid)
    end
  end
end
sweep(id)
call('HDEL', announced, 'refs')
call('HSET', announced, 'gone', count)
return count

--- script importJobs(batch; now, keepMs, jobs[place, at, payload, lock, jid, ttl, debounced, first, waiting]): job addMember debounce replace groups noteSleep
-- Imports a batch of jobs of another store, once.
--
-- batch    jobs:imported:BATCH
-- jobs     place: queue:NAME or a set; at: its time in ms in a set; lock: the key of its unique lock, "" for none; ttl: that of
--           the lock in ms; debounced: the key of its debounce, "" for none; first: ms at which its wait began; waiting: its jid
-- Result   how many were imported: all, or none if the batch was imported before
-- O(log M) per job into a set of M members

local call = redis.call

-- Fail on a key of the wrong type before anything is written.
for _, job in ipairs(jobs) do
  if string.sub(job.place, 1, 6) == 'queue:' then checkQueue(string.sub(job.place, 7)) else call('ZCARD', job.place) end
  if job.lock ~= '' then call('STRLEN', 'jobs:unique:' .. job.lock) end
  if job.debounced ~= '' then call('STRLEN', 'jobs:debounce:' .. job.debounced) end
end

if not call('SET', batch, '1', 'NX', 'PX', keepMs) then return 0 end
local due = false
for _, imported in ipairs(jobs) do
  local to, at, payload, debounced, lock = imported.place, imported.at, imported.payload, imported.debounced, imported.lock
  local text = payload
  if string.sub(to, 1, 6) == 'queue:' then
    call('LPUSH', to, payload)
    notePush(string.sub(to, 7), 1)
  else
    due = due or to ~= 'dead'
    local job = to == 'schedule' and jobWith(payload, 'has_steps"')
    if job and job.has_steps and type(job.jid) == 'string' then
      at = apart(noteSleep, now, job.jid, tonumber(at)) or tonumber(at)
    end
    text = addMember(to, at, payload)
    local other = debounced ~= '' and string.match(call('GET', 'jobs:debounce:' .. debounced) or '', '^%d+ %S+ (.*)$')
    if debounced ~= '' and not (other and call('ZSCORE', to, other)) then
      keepDebounce(debounced, math.min(tonumber(imported.first), now), imported.waiting, text, math.max(0, at - now))
    end
  end
  if lock ~= '' then
    local till = string.match(call('GET', 'jobs:unique:' .. lock) or '', '^(%d+) ')
    if not till or tonumber(till) <= now then
      -- The time in the value counts. Redis deletes the key later.
      call('SET', 'jobs:unique:' .. lock, string.format('%d', now + imported.ttl) .. ' ' .. imported.jid, 'PX', imported.ttl + 60000)
      call('SET', 'jobs:unique-of:' .. imported.jid, lock, 'PX', imported.ttl + 60000)
      noteReplaceable(to, text)
    end
  end
end
-- The user may lack the permission to publish: pollers then see the job a second later.
if due then redis.pcall('PUBLISH', 'jobs:wake', 'due') end
return #jobs

--- script importSteps(steps; now, jid, receives, imported[name, record]): job steps
-- Imports the steps of a job of another store, except those that have ended here. A wait that has ended there since it was first
-- imported ends here, too.
--
-- steps    jobs:steps:JID
-- receives "1" if signals reach the job from now on, else "0"
-- O(N) for N steps

local call = redis.call
if receives == '0' then leaveAllWaiting(jid) end
for _, step in ipairs(imported) do
  local name, record = step.name, step.record
  local waits = string.match(record, WAITING)
  local present = call('HGET', steps, name)
  if not present or string.match(present, WAITING) then
    if present and not waits then
      leaveWaiting(jid, name, present)
      apart(uncountWait, present)
    end
    if not present or not waits then call('HSET', steps, name, record) end
    if waits and not present then apart(countWait, now, record) end
    local key = waits and receives == '1' and recordIn(record).key
    local kept = type(key) == 'string' and apart(takeKept, now, key)
    if kept then
      finishWait(now, jid, name, '"value":' .. kept, 'succeeded')
    elseif type(key) == 'string' then
      apart(joinWaiting, now, jid, name, key, math.max(0, waits - now))
    end
  end
end

--- script flowImport(flow; nodes[name, needs, spec, followers, state, effect, payload, result])
-- Imports nodes unchanged. Sent again, it changes nothing.
--
-- flow     jobs:flow:ID
-- nodes    needs: how many nodes it waits for; spec: its job (JSON); followers: names after it (JSON); state: "STATE MS";
--           effect: that of its end; effect, payload, result: "" for none
-- O(N) for N nodes

local call = redis.call
-- Fail on a key of the wrong type before anything is written.
call('LLEN', flow .. ':nodes')
call('LLEN', flow .. ':roots')
for _, node in ipairs(nodes) do
  local name = node.name
  if call('HSETNX', flow, 's:' .. name, node.state) == 1 then
    call('HSET', flow, 'n:' .. name, node.needs, 'j:' .. name, node.spec, 'f:' .. name, node.followers)
    if node.effect ~= '' then call('HSET', flow, 'x:' .. name, node.effect) end
    if node.payload ~= '' then call('HSET', flow, 'p:' .. name, node.payload) end
    if node.result ~= '' then call('HSET', flow, 'r:' .. name, node.result) end
    call('RPUSH', flow .. ':nodes', name)
    if node.needs == '0' then call('RPUSH', flow .. ':roots', name) end
  end
end
return 0

--- script importThrottles(; now, throttles[key, per, pushes[before, jid]])
-- Imports throttles of another store. A throttle that counts pushes here keeps them.
--
-- throttles  per: its time in ms; pushes, the latest first: ms before now, jid
-- O(N) for N pushes

local call = redis.call

for _, throttle in ipairs(throttles) do
  local list = 'jobs:throttle:' .. throttle.key
  local left = math.ceil(throttle.per - throttle.pushes[1].before)
  if left > 0 and call('EXISTS', list) == 0 then
    local lines = {}
    for k, push in ipairs(throttle.pushes) do
      lines[#lines + 1] = string.format('%d', now - push.before) .. ' ' .. push.jid
      -- Lua limits the number of arguments of a call.
      if #lines == 1000 or k == #throttle.pushes then
        call('RPUSH', list, unpack(lines))
        lines = {}
      end
    end
    call('PEXPIRE', list, left)
  end
end

--- script readThrottles(throttles[]; now) no-writes
-- Reads some throttles, for a migration. A throttle that isn't changed meanwhile is read at least once.
--
-- throttles  keys, of which this reads as many as have 1,000 pushes together, but at least one
-- Result   how many keys it has read, then per throttle: key, its time in ms, number of pushes, per push, the latest first: ms
--          since then, jid
-- O(N) for N pushes

local call = redis.call
local PREFIX = 'jobs:throttle:'
local MAX_PUSHES = 1000

local result = { 0 }
local pushes = 0
for i, key in ipairs(throttles) do
  pushes = pushes + call('LLEN', key)
  if i > 1 and pushes > MAX_PUSHES then break end
  result[1] = i
  local lines = call('LRANGE', key, 0, -1)
  local left = call('PTTL', key)
  if #lines > 0 and left > 0 then
    -- The key expires when the latest push leaves the time.
    local latest = math.min(now, tonumber(string.match(lines[1], '^%d+')))
    for _, value in ipairs({ string.sub(key, #PREFIX + 1), left + now - latest, #lines }) do result[#result + 1] = value end
    for _, line in ipairs(lines) do
      local at, jid = string.match(line, '^(%d+) (.*)$')
      result[#result + 1] = math.max(0, now - at)
      result[#result + 1] = jid
    end
  end
end
return result
