--- part queueRows: enqueuedAt limits pauses
-- The rows of queues. A row has: name; size (-1: its key has another type); oldest payload (false: the queue is
-- empty, or the payload is huge and has no time at its ends; "": the payload is large, and the caller must read it); paused
-- (0 no, -1 until it is resumed, else the remaining ms); number of held groups; 1 if limits or pauses of its groups are stored,
-- else 0; number of jobs aside. With a limit also: the limit, ms until a job may be taken (-1: when one ends), running, started.

-- Returns the oldest payload of a list, and its bytes. Reduces a large one to its enqueue time, its last field unless another
-- program wrote it. In a payload of more than 1 MiB only the ends are searched. A nested field may be taken for it there, but
-- reading all of it each time would block Redis.
local function headOf(key)
  -- A group's key of another type must not hide the other groups.
  local head = redis.pcall('LINDEX', key, -1)
  if type(head) ~= 'string' then return false, 0 end
  if #head <= 2048 then return head, #head end
  local time = string.match(string.sub(head, -64), ',"enqueued_at":([%d.]+)}$')
  if not time and #head > 1048576 then
    time = string.match(string.sub(head, -4096), '.*"enqueued_at":([%d.]+)')
      or string.match(string.sub(head, 1, 4096), '"enqueued_at":([%d.]+)')
    if not time then return false, #head end
  end
  return time and '{"enqueued_at":' .. time .. '}' or '', #head
end

-- A script reads the oldest jobs of at most this many groups over all of its queues, until they have this many bytes.
local MAX_GROUPS_READ, MAX_GROUP_BYTES_READ = 1000, 1048576

-- Returns the oldest payload of a queue and its groups, held ones included: the jobs of a full group wait, too.
local function oldestOf(name, head, max, budget)
  if head == '' then return head end
  local oldest, first = head, head and enqueuedAt(head)
  for _, state in ipairs({ 'held', 'aside', 'ready' }) do
    for _, group in ipairs(redis.call('ZRANGE', 'jobs:groups:' .. state .. ':' .. name, 0, max - 1)) do
      if budget.bytes <= 0 then return oldest end
      local payload, bytes = headOf('queue:' .. name .. '|' .. group)
      budget.bytes = budget.bytes - bytes
      local at = payload and enqueuedAt(payload)
      if at and (not first or at < first) then oldest, first = payload, at end
    end
  end
  return oldest
end

local function rowsOf(now, names)
  if #names == 0 then return {} end
  local maxGroups = math.max(1, math.floor(MAX_GROUPS_READ / 2 / #names))
  local budget = { bytes = MAX_GROUP_BYTES_READ }
  local paused = pausedOf(now, names)
  local limits = redis.call('HMGET', 'jobs:limits', unpack(names))
  local rows = {}
  for i, name in ipairs(names) do
    local key = 'queue:' .. name
    -- A key of another type, which another program uses, must not hide the other queues.
    local size = redis.pcall('LLEN', key)
    local isList = type(size) == 'number'
    local held, isSet = 0, 0
    local head = isList and headOf(key)
    if isList and limits[i] and string.sub(limits[i], -2) == ' g' then
      size = size + (tonumber(redis.call('HGET', 'jobs:groups:state:' .. name, 'size')) or 0)
      head = oldestOf(name, head, maxGroups, budget)
    end
    if limits[i] and string.sub(limits[i], -2) == ' g' then
      held = redis.call('ZCARD', 'jobs:groups:held:' .. name)
      isSet = redis.call('EXISTS', 'jobs:groups:limits:' .. name, 'jobs:groups:paused:' .. name) > 0 and 1 or 0
    end
    local aside = 0
    for _, place in ipairs(limits[i] and redis.pcall('ZRANGE', 'jobs:groups:aside:' .. name, 0, -1) or {}) do
      local length = redis.pcall('LLEN', key .. '|' .. place)
      aside = aside + (type(length) == 'number' and length or 0)
    end
    local row = { name, isList and size or -1, head, paused[i], held, isSet, aside }
    local limit = limitIn(limits[i])
    if limit then
      local fine, _, opens, running, started = pcall(roomIn, name, limit, now)
      if fine then row[8], row[9], row[10], row[11] = limits[i], opens, running, started end
    end
    rows[i] = row
  end
  return rows
end

--- script readQueueRows(; now, names[]) no-writes: queueRows
-- Reads the rows of queues that `stats` only named, because there are more than it may read.
--
-- Result   per queue a row (`queueRows`)
-- O(Q) for Q queues, up to 1,000 groups, and the jobs that count against limits

return rowsOf(now, names)

--- script stats(; now, maxRows) no-writes: queueRows
-- Reads the totals, the sizes of the sets, and the rows of queues.
--
-- maxRows  of queues; 0: reads no queues
-- Result   now in ms, processed, failed, scheduled, retry, dead, running jobs, online workers,
--          steps that sleep, wait for a signal, and wait for a child;
--          per queue a row (`queueRows`); the names of the other queues
-- O(Q + W) for Q queues and W workers, up to 1,000 groups, and the jobs that count against limits

local call = redis.call

local leased, live = 0, 0
local ours = {}
local workers = call('ZRANGE', 'jobs:workers', 0, -1, 'WITHSCORES')
for i = 1, #workers, 2 do
  ours[workers[i]] = true
  leased = leased + call('HLEN', 'jobs:leases:' .. workers[i])
  if tonumber(workers[i + 1]) > now then live = live + 1 end
end
for _, worker in ipairs(call('SMEMBERS', 'processes')) do
  if not ours[worker] and call('EXISTS', worker) == 1 then live = live + 1 end
end

-- By kind and hour (`steps`).
local waits = { sleep = 0, wait = 0, child = 0 }
local counted = call('HGETALL', 'jobs:waits')
for i = 1, #counted, 2 do
  local kind, hour = string.match(counted[i], '^(%a+) (%d+)$')
  -- Another program may have written the field.
  if waits[kind] and hour * 3600000 > now then waits[kind] = waits[kind] + (tonumber(counted[i + 1]) or 0) end
end

local counts = {
  now,
  tonumber(call('GET', 'stat:processed')) or 0,
  tonumber(call('GET', 'stat:failed')) or 0,
  call('ZCARD', 'schedule'),
  call('ZCARD', 'retry'),
  call('ZCARD', 'dead'),
  leased,
  live,
  waits.sleep,
  waits.wait,
  waits.child,
}
if maxRows == '0' then return { counts, {}, {} } end
local names = call('SUNION', 'queues', 'paused')
local known = {}
for _, name in ipairs(names) do known[name] = true end
for _, name in ipairs(call('HKEYS', 'jobs:limits')) do -- has also the queues with groups
  if not known[name] then names[#names + 1] = name end
  known[name] = true
end
for _, name in ipairs(call('ZRANGE', 'jobs:paused-until', '(' .. now, '+inf', 'BYSCORE')) do
  if not known[name] then names[#names + 1] = name end
end
local some, others = {}, {}
for i, name in ipairs(names) do table.insert(i <= tonumber(maxRows) and some or others, name) end
return { counts, rowsOf(now, some), others }
