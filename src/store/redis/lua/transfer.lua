--- script announce
-- Announces a batch of entries that is about to be migrated to another store. Only one batch is announced at a time.
--
-- KEYS[1]  jobs:announced, the last batch
-- ARGV     ID of the batch, the refs of its entries (JSON)
-- Result   ID and refs of the announced batch: this one, or the one before it if that isn't migrated yet
-- O(1)

local call = redis.call
local batch = call('HMGET', KEYS[1], 'id', 'refs')
if batch[2] then return batch end
call('DEL', KEYS[1])
call('HSET', KEYS[1], 'id', ARGV[1], 'refs', ARGV[2])
return ARGV

--- script migrateOut allow-oom: job endDebounce takeOut endJob groups
-- Deletes the entries of the announced batch, after the other store has imported them, and ends the batch in the same step.
--
-- KEYS[1]  jobs:announced, the last batch
-- ARGV     ID of the batch,
--          then per entry: key of its place (queue:NAME, or a set), its position in a queue, its member,
--            its jid, whose unique lock is released ("" for none)
-- Result   how many were deleted; sent again, it returns the same
-- O(log M) per entry of a set of M members. Entries of a queue: see `takeOut`

local call = redis.call
local id, refs, gone = unpack(call('HMGET', KEYS[1], 'id', 'refs', 'gone'))
if id ~= ARGV[1] then return 0 end
if not refs then return tonumber(gone) end

-- Fail on a key of the wrong type before anything is written.
for i = 2, #ARGV, 4 do
  if ARGV[i + 1] ~= '' then checkQueue(string.sub(ARGV[i], 7)) else call('ZCARD', ARGV[i]) end
end

local count = 0
for i = 2, #ARGV, 4 do
  local from, position, member, jid = unpack(ARGV, i, i + 3)
  local isThere
  if position ~= '' then
    isThere = takeOut(from, tonumber(position), member, ARGV[1])
  else
    isThere = call('ZREM', from, member) == 1
    if isThere then apart(endDebounce, member) end
  end
  if isThere then
    count = count + 1
    if jid ~= '' then
      apart(endJob, jid, true)
    end
  end
end
sweep(ARGV[1])
call('HDEL', KEYS[1], 'refs')
call('HSET', KEYS[1], 'gone', count)
return count

--- script importJobs: job addMember debounce replace groups noteSleep
-- Imports a batch of jobs of another store, once.
--
-- KEYS[1]  jobs:imported:BATCH
-- ARGV     offset of the clock in ms, ms to keep that key,
--          then per job: its place (queue:NAME or a set), its time in ms in a set, payload,
--            key of its unique lock ("" for none), jid, TTL of the lock in ms,
--            key of its debounce ("" for none), ms at which its wait began, jid
-- Result   how many were imported: all, or none if the batch was imported before
-- O(log M) per job into a set of M members

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]

-- Fail on a key of the wrong type before anything is written.
for i = 3, #ARGV, 9 do
  if string.sub(ARGV[i], 1, 6) == 'queue:' then checkQueue(string.sub(ARGV[i], 7)) else call('ZCARD', ARGV[i]) end
  if ARGV[i + 3] ~= '' then call('STRLEN', 'jobs:unique:' .. ARGV[i + 3]) end
  if ARGV[i + 6] ~= '' then call('STRLEN', 'jobs:debounce:' .. ARGV[i + 6]) end
end

if not call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[2]) then return 0 end
local due = false
for i = 3, #ARGV, 9 do
  local to, at, payload, lock, jid, ttl, debounced, first, waiting = unpack(ARGV, i, i + 8)
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
      keepDebounce(debounced, math.min(tonumber(first), now), waiting, text, math.max(0, at - now))
    end
  end
  if lock ~= '' then
    local till = string.match(call('GET', 'jobs:unique:' .. lock) or '', '^(%d+) ')
    if not till or tonumber(till) <= now then
      -- The time in the value counts. Redis deletes the key later.
      call('SET', 'jobs:unique:' .. lock, string.format('%d', now + ttl) .. ' ' .. jid, 'PX', ttl + 60000)
      call('SET', 'jobs:unique-of:' .. jid, lock, 'PX', ttl + 60000)
      noteReplaceable(to, text)
    end
  end
end
-- The user may lack the permission to publish: pollers then see the job a second later.
if due then redis.pcall('PUBLISH', 'jobs:wake', 'due') end
return (#ARGV - 2) / 9

--- script importSteps: job steps
-- Imports the steps of a job of another store, except those that exist already. A wait that has ended there since it was first
-- imported ends here, too.
--
-- KEYS[1]  jobs:steps:JID
-- ARGV     offset of the clock in ms, jid, per step: name, record
-- O(N) for N steps

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
for i = 3, #ARGV, 2 do
  local name, record = ARGV[i], ARGV[i + 1]
  local waits = string.match(record, WAITING)
  local present = call('HGET', KEYS[1], name)
  if not present or not waits and string.match(present, WAITING) then
    if present and not waits then
      leaveWaiting(ARGV[2], name, present)
      apart(uncountWait, present)
    end
    call('HSET', KEYS[1], name, record)
    if waits then apart(countWait, now, record) end
    local key = waits and recordIn(record).key
    if type(key) == 'string' then apart(joinWaiting, now, ARGV[2], name, key, math.max(0, waits - now)) end
  end
end

--- script flowImport
-- Imports nodes unchanged. Sent again, it changes nothing.
--
-- KEYS[1]  jobs:flow:ID
-- ARGV     per node: name, how many nodes it waits for, its job (JSON), names after it (JSON), "STATE MS", the effect of its end
--          ("" for none), payload ("" for none), result ("" for none)
-- O(N) for N nodes

local call = redis.call
-- Fail on a key of the wrong type before anything is written.
call('LLEN', KEYS[1] .. ':nodes')
call('LLEN', KEYS[1] .. ':roots')
for i = 1, #ARGV, 8 do
  local name, needs, spec, followers, state, effect, payload, result = unpack(ARGV, i, i + 7)
  if call('HSETNX', KEYS[1], 's:' .. name, state) == 1 then
    call('HSET', KEYS[1], 'n:' .. name, needs, 'j:' .. name, spec, 'f:' .. name, followers)
    if effect ~= '' then call('HSET', KEYS[1], 'x:' .. name, effect) end
    if payload ~= '' then call('HSET', KEYS[1], 'p:' .. name, payload) end
    if result ~= '' then call('HSET', KEYS[1], 'r:' .. name, result) end
    call('RPUSH', KEYS[1] .. ':nodes', name)
    if needs == '0' then call('RPUSH', KEYS[1] .. ':roots', name) end
  end
end
return 0

--- script importThrottles
-- Imports throttles of another store. A throttle that counts pushes here keeps them.
--
-- ARGV     offset of the clock in ms,
--          then per throttle: key, its time in ms, number of pushes, per push, the latest first: ms since then, jid
-- O(N) for N pushes

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]

local i = 2
while i <= #ARGV do
  local list, per, last = 'jobs:throttle:' .. ARGV[i], ARGV[i + 1], i + 2 + 2 * ARGV[i + 2]
  local left = math.ceil(per - ARGV[i + 3])
  if left > 0 and call('EXISTS', list) == 0 then
    local lines = {}
    for k = i + 3, last, 2 do
      lines[#lines + 1] = string.format('%d', now - ARGV[k]) .. ' ' .. ARGV[k + 1]
      -- Lua limits the number of arguments of a call.
      if #lines == 1000 or k + 1 == last then
        call('RPUSH', list, unpack(lines))
        lines = {}
      end
    end
    call('PEXPIRE', list, left)
  end
  i = last + 1
end

--- script readThrottles no-writes
-- Reads some throttles, for a migration. A throttle that isn't changed meanwhile is read at least once.
--
-- KEYS     throttles, of which this reads as many as have 1,000 pushes together, but at least one
-- ARGV     offset of the clock in ms
-- Result   how many keys it has read, then per throttle: key, its time in ms, number of pushes, per push, the latest first: ms
--          since then, jid
-- O(N) for N pushes

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local PREFIX = 'jobs:throttle:'
local MAX_PUSHES = 1000

local result = { 0 }
local pushes = 0
for i, key in ipairs(KEYS) do
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
