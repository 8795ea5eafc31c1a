--- script cronRead(; now, all, configured[], names[])
-- Reads cron entries, and notes which of them a worker has in its configuration.
--
-- all      "1" to read all entries, "" for those in names
-- configured  names of the worker's entries
-- Result   now in ms, number of announced changes,
--          then per existing entry: name, version, definition, state, live job (false for none), when it was last seen
-- O(N) for N entries

local call = redis.call

-- Fail on a key of the wrong type before anything is written.
call('SCARD', 'jobs:cron:names')
call('STRLEN', 'jobs:cron:changes')
for _, name in ipairs(configured) do
  local entry = 'jobs:cron:entry:' .. name
  -- A key of another type must not hide the other entries.
  if call('EXISTS', entry) == 1 then redis.pcall('HSET', entry, 'seen', now) end
end

if all == '1' then
  names = call('SMEMBERS', 'jobs:cron:names')
  table.sort(names)
end
local result = { now, tonumber(call('GET', 'jobs:cron:changes') or 0) or 0 }
for _, name in ipairs(names) do
  local entry = redis.pcall('HMGET', 'jobs:cron:entry:' .. name, 'version', 'definition', 'state', 'live', 'seen')
  if entry[1] then result[#result + 1] = { name, unpack(entry, 1, 5) } end
end
return result

--- script cronWrite(done; now, wire, maxRecords, keepMs, writes[name, version, state, awaited, verb, definition, jobs[queue, jid, payload], follow[queue, payload], events[], records[]]): job groups pushOnce events
-- Changes or removes cron entries, each if it has not changed since it was read, and pushes the jobs that follow. Sent again because its
-- reply was lost, it changes nothing and returns the same.
--
-- done     jobs:cron:done:WRITE, the result of this write
-- wire     7 or 8
-- keepMs   how long to keep the result of this write
-- writes   version: as read, 0 for none; awaited: "1" if the end of its job is awaited, else ""; verb: "define", "keep" or "remove";
--           payload: without its closing brace; follow: further jobs to push; events: members of events
-- Result   per entry its new version, that read of a removed one; 0 if it has changed
-- O(N) for N arguments

local call = redis.call
local stored = call('GET', done)
if stored then return cmsgpack.unpack(stored) end

local enqueuedAt = ',"enqueued_at":' .. (wire == '8' and string.format('%d', now) or string.format('%.3f', now / 1000)) .. '}'

-- Fail on a key of the wrong type before anything is written.
call('SCARD', 'jobs:cron:names')
call('HLEN', 'jobs:cron:live')
checkCount('jobs:cron:changes')
checkCount('jobs:cron:version')
for _, write in ipairs(writes) do
  call('HLEN', 'jobs:cron:entry:' .. write.name)
  call('XLEN', 'jobs:cron:log:' .. write.name)
  for _, job in ipairs(write.jobs) do checkQueue(job.queue) end
end

local result = {}
local isChanged = false
for _, write in ipairs(writes) do
  local name = write.name
  local entry = 'jobs:cron:entry:' .. name
  if (call('HGET', entry, 'version') or '0') ~= write.version then
    result[#result + 1] = 0
  elseif write.verb == 'remove' then
    local live = call('HGET', entry, 'live')
    if live then call('HDEL', 'jobs:cron:live', live) end
    call('DEL', entry, 'jobs:cron:log:' .. name)
    call('SREM', 'jobs:cron:names', name)
    result[#result + 1] = tonumber(write.version)
    isChanged = true
  else
    local version = call('INCR', 'jobs:cron:version')
    result[#result + 1] = version
    call('SADD', 'jobs:cron:names', name)
    call('HSET', entry, 'version', version, 'state', write.state)
    if write.awaited == '1' then call('HSET', entry, 'awaited', '1') else call('HDEL', entry, 'awaited') end
    if write.verb == 'define' then
      call('HSET', entry, 'definition', write.definition, 'seen', now)
      isChanged = true
    end
    local jid
    for _, job in ipairs(write.jobs) do
      call('LPUSH', 'queue:' .. job.queue, job.payload .. enqueuedAt)
      notePush(job.queue, 1)
      jid = job.jid
    end
    if jid then
      local live = call('HGET', entry, 'live')
      if live then call('HDEL', 'jobs:cron:live', live) end
      call('HSET', entry, 'live', jid)
      call('HSET', 'jobs:cron:live', jid, name)
    end
    for _, job in ipairs(write.follow) do apart(pushOnce, now, wire, job) end
    for _, event in ipairs(write.events) do apart(recordEvent, now, event) end
    for _, record in ipairs(write.records) do
      call('XADD', 'jobs:cron:log:' .. name, 'MAXLEN', maxRecords, '*', 'at', now, 'event', record)
    end
  end
end
if isChanged then
  call('INCR', 'jobs:cron:changes')
  -- The user may lack the permission to publish: schedulers then see the change some seconds later.
  redis.pcall('PUBLISH', 'jobs:wake', 'cron')
end
call('SET', done, cmsgpack.pack(result), 'PX', keepMs)
return result

--- part endCronJob
-- Ends the live job of a cron entry, because the job has left the store or is dead.
local function endCronJob(jid)
  local call = redis.call
  local name = call('HGET', 'jobs:cron:live', jid)
  if not name then return end
  call('HDEL', 'jobs:cron:live', jid)
  local entry = 'jobs:cron:entry:' .. name
  call('HDEL', entry, 'live')
  call('HSET', entry, 'version', call('INCR', 'jobs:cron:version'))
  if call('HDEL', entry, 'awaited') == 1 then
    call('INCR', 'jobs:cron:changes')
    -- The user may lack the permission to publish: schedulers then see the change some seconds later.
    redis.pcall('PUBLISH', 'jobs:wake', 'cron')
  end
end
