-- Reads the store for the judges, in one step: the jobs of all places, the batches, contradictions, and what is left over.
-- ARGV: "all" for the leftovers, signals and cron records, too; what jobs of another client have twice. Reply as JSON.
local call = redis.call
-- Keys that outlive the jobs of a run. Any other one must have an end.
local KEPT = {
  '^sim:', '^stat:', '^queues$', '^queue:', '^dead$', '^jobs:limits$', '^jobs:groups:limits:', '^jobs:classes$', '^jobs:webhooks$', '^jobs:ended', '^jobs:batch',
  '^jobs:flow', '^jobs:cron:', '^jobs:session%-key$', '^jobs:measured', '^jobs:paused%-until$', '^jobs:steps:', '^jobs:waits$',
}
-- The limits that the simulation sets.
local LIMITS, running = { narrow = 2, grouped = 1 }, {}
local jobs, workers, batches, wrong, left, signals, records = {}, {}, {}, {}, {}, {}, {}
local places, live = {}, {}
local function keys(pattern)
  local found = call('KEYS', pattern)
  table.sort(found)
  return found
end
local function add(place, payload, worker)
  local fine, job = pcall(cjson.decode, payload)
  local jid = fine and type(job) == 'table' and job.jid or '?'
  jobs[#jobs + 1] = { jid = jid, place = place, isCron = fine and job.occurrence ~= nil, worker = worker }
  live[jid] = true
  if places[jid] then wrong[#wrong + 1] = 'a job is in one place: ' .. jid .. ' is in ' .. places[jid] .. ' and ' .. place end
  places[jid] = place
  local _, first = string.find(payload, ARGV[2], 1, true)
  if string.find(payload, '"foreign"', 1, true) and not (first and string.find(payload, ARGV[2], first, true)) then
    wrong[#wrong + 1] = 'what another client wrote is kept: ' .. payload
  end
end
for _, key in ipairs(keys('queue:*')) do
  local list = call('LRANGE', key, 0, -1)
  for i = #list, 1, -1 do add('queue', list[i]) end
end
for place, key in pairs({ scheduled = 'schedule', retry = 'retry', dead = 'dead' }) do
  for _, payload in ipairs(call('ZRANGE', key, 0, -1)) do add(place, payload) end
end
local leases = keys('jobs:leases:*')
for _, key in ipairs(leases) do
  local fields = call('HGETALL', key)
  for i = 2, #fields, 2 do
    if string.find(fields[i - 1], ':') then
      add('lease', fields[i], string.sub(key, 13))
      local fine, job = pcall(cjson.decode, fields[i])
      -- The job of a lease that was cancelled doesn't run.
      local limit = fine and key ~= 'jobs:leases:cancelled' and LIMITS[job.queue]
      local name = limit and job.queue .. ' ' .. (job.queue == 'grouped' and job.group or '')
      if limit then running[name] = (running[name] or 0) + 1 end
      if limit and running[name] > limit then wrong[#wrong + 1] = 'limits hold: ' .. running[name] .. ' run of ' .. name end
    end
  end
end
-- `cancelled` isn't a worker: it has the leases of cancelled jobs, and disappears with the second rescue after them.
for _, worker in ipairs(call('ZRANGE', 'jobs:workers', 0, -1)) do workers[#workers + 1] = worker end
table.sort(jobs, function(a, b) return a.jid < b.jid end)
local NUMBERS = { 'total', 'pending', 'dead', 'succeeded', 'failed', 'cancelled', 'expired', 'deleted', 'waiting' }
for _, key in ipairs(keys('jobs:batch:*')) do
  local id = string.sub(key, 12)
  local row = { ended = false }
  for i, text in ipairs(call('HMGET', key, unpack(NUMBERS))) do row[NUMBERS[i]] = tonumber(text or nil) or 0 end
  local completeAt, abandonedAt = unpack(call('HMGET', key, 'complete_at', 'abandoned_at'))
  local counted = row.pending + row.dead + row.succeeded + row.failed + row.cancelled + row.expired + row.deleted
  if row.total ~= counted or row.pending < 0 or row.waiting < 0 or row.waiting > row.pending then
    wrong[#wrong + 1] = 'a batch counts its members: ' .. id .. ' ' .. cjson.encode(row)
  end
  local isFlow = call('EXISTS', 'jobs:flow:' .. id) == 1
  local ended = (completeAt or abandonedAt or isFlow and row.dead > 0 and row.pending == row.waiting) and true or false
  batches[#batches + 1] = { id = id, isFlow = isFlow, isEnded = ended }
  if row.pending ~= row.waiting or row.pending > 0 and row.dead == 0 then
    left[#left + 1] = 'a pending member: ' .. id .. ' ' .. cjson.encode(row)
  end
end
if ARGV[1] == 'all' then
  for _, key in ipairs(keys('jobs:signals:*')) do
    for _, signal in ipairs(call('LRANGE', key, 0, -1)) do signals[#signals + 1] = signal end
  end
  for _, entry in ipairs(call('LRANGE', 'jobs:cron:log:tick', 0, -1)) do
    table.insert(records, 1, string.match(entry, '^%d+ (.*)$'))
  end
  local function report(what, key) left[#left + 1] = what .. ': ' .. key end
  -- Cron never ends: its job may be snoozed, or wait for a retry.
  local waits = {}
  for _, job in ipairs(jobs) do
    if not job.isCron then waits[job.place] = true end
  end
  for _, key in ipairs(leases) do report('a lease', key) end
  for _, key in ipairs(keys('*')) do
    local isKept = call('PTTL', key) >= 0 or key == 'schedule' and not waits.scheduled or key == 'retry' and not waits.retry
    for _, pattern in ipairs(KEPT) do isKept = isKept or string.find(key, pattern) end
    if not isKept then report('a key', key) end
  end
  for _, worker in ipairs(workers) do report('a worker', worker) end
  for _, worker in ipairs(call('SMEMBERS', 'processes')) do report('a worker', worker) end
  for pattern, what in pairs({ ['jobs:claim:*'] = 'a name of a worker', ['jobs:commands:*'] = 'a command', ['jobs:debounce:*'] = 'a debounced push' }) do
    for _, key in ipairs(keys(pattern)) do report(what, key) end
  end
  if call('LLEN', 'jobs:flows:pending') > 0 then report('a pending effect of a flow', call('LINDEX', 'jobs:flows:pending', 0)) end
  for _, key in ipairs(keys('jobs:steps:*')) do
    if not live[string.sub(key, 12)] then report('steps of a job that has ended', key) end
  end
end
return cjson.encode({ jobs = jobs, workers = workers, batches = batches, wrong = wrong, left = left, signals = signals, records = records })
