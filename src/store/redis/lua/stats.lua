#!lua flags=no-writes
-- Reads the totals, the sizes of the sets, and the rows of queues.
--
-- ARGV     offset of the clock in ms, max rows of queues (0: reads no queues)
-- Result   now in ms, processed, failed, scheduled, retry, dead, running jobs, online workers,
--          steps that sleep, wait for a signal, and wait for a child;
--          per queue a row (queue_rows.lua); the names of the other queues
-- O(Q + W) for Q queues and W workers, up to 1,000 groups, and the jobs that count against limits

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]

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

-- By kind and hour (steps.lua).
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
if ARGV[2] == '0' then return { counts, {}, {} } end
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
for i, name in ipairs(names) do table.insert(i <= tonumber(ARGV[2]) and some or others, name) end
return { counts, rowsOf(now, some), others }
