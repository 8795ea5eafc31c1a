--- script cronRead
-- Reads cron entries, and notes which of them a worker has in its configuration.
--
-- ARGV     offset of the clock in ms, number of the worker's entries, their names,
--          then "all", or "some" and names
-- Result   now in ms, number of announced changes,
--          then per existing entry: name, version, definition, state, live job (false for none), when it was last seen
-- O(N) for N entries

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local first = 3 + ARGV[2]

-- Fail on a key of the wrong type before anything is written.
call('SCARD', 'jobs:cron:names')
call('STRLEN', 'jobs:cron:changes')
for i = 3, first - 1 do
  local entry = 'jobs:cron:entry:' .. ARGV[i]
  -- A key of another type must not hide the other entries.
  if call('EXISTS', entry) == 1 then redis.pcall('HSET', entry, 'seen', now) end
end

local names
if ARGV[first] == 'all' then
  names = call('SMEMBERS', 'jobs:cron:names')
  table.sort(names)
else
  names = { unpack(ARGV, first + 1) }
end
local result = { now, tonumber(call('GET', 'jobs:cron:changes') or 0) or 0 }
for _, name in ipairs(names) do
  local entry = redis.pcall('HMGET', 'jobs:cron:entry:' .. name, 'version', 'definition', 'state', 'live', 'seen')
  if entry[1] then result[#result + 1] = { name, unpack(entry, 1, 5) } end
end
return result

--- script cronWrite: job groups
-- Changes or removes cron entries, each if it has not changed since it was read, and pushes the jobs that follow. Sent again because its
-- reply was lost, it changes nothing and returns the same.
--
-- KEYS[1]  jobs:cron:done:WRITE, the result of this write
-- ARGV     offset of the clock in ms, wire (7 or 8), max records of an entry, ms to keep the result,
--          then per entry: name, version as read (0 for none), state, "1" if the end of its job is awaited or "",
--            "define" and its definition, or "keep" and "", or "remove", "", "0" and "0",
--            number of jobs, per job: queue, jid, payload without its closing brace,
--            number of records, the records
-- Result   per entry its new version, that read of a removed one; 0 if it has changed
-- O(N) for N arguments

local call = redis.call
local stored = call('GET', KEYS[1])
if stored then return cmsgpack.unpack(stored) end

local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local enqueuedAt = ',"enqueued_at":' .. (ARGV[2] == '8' and string.format('%d', now) or string.format('%.3f', now / 1000)) .. '}'

-- Returns the index of the next entry.
local function endOf(i)
  local records = i + 7 + 3 * ARGV[i + 6]
  return records + 1 + ARGV[records]
end

-- Fail on a key of the wrong type before anything is written.
call('SCARD', 'jobs:cron:names')
call('HLEN', 'jobs:cron:live')
checkCount('jobs:cron:changes')
checkCount('jobs:cron:version')
do
  local i = 5
  while i <= #ARGV do
    call('HLEN', 'jobs:cron:entry:' .. ARGV[i])
    call('XLEN', 'jobs:cron:log:' .. ARGV[i])
    for k = i + 7, i + 4 + 3 * ARGV[i + 6], 3 do checkQueue(ARGV[k]) end
    i = endOf(i)
  end
end

local result = {}
local isChanged = false
local i = 5
while i <= #ARGV do
  local name = ARGV[i]
  local entry = 'jobs:cron:entry:' .. name
  if (call('HGET', entry, 'version') or '0') ~= ARGV[i + 1] then
    result[#result + 1] = 0
  elseif ARGV[i + 4] == 'remove' then
    local live = call('HGET', entry, 'live')
    if live then call('HDEL', 'jobs:cron:live', live) end
    call('DEL', entry, 'jobs:cron:log:' .. name)
    call('SREM', 'jobs:cron:names', name)
    result[#result + 1] = tonumber(ARGV[i + 1])
    isChanged = true
  else
    local version = call('INCR', 'jobs:cron:version')
    result[#result + 1] = version
    call('SADD', 'jobs:cron:names', name)
    call('HSET', entry, 'version', version, 'state', ARGV[i + 2])
    if ARGV[i + 3] == '1' then call('HSET', entry, 'awaited', '1') else call('HDEL', entry, 'awaited') end
    if ARGV[i + 4] == 'define' then
      call('HSET', entry, 'definition', ARGV[i + 5], 'seen', now)
      isChanged = true
    end
    local records = i + 7 + 3 * ARGV[i + 6]
    for k = i + 7, records - 3, 3 do
      call('LPUSH', 'queue:' .. ARGV[k], ARGV[k + 2] .. enqueuedAt)
      notePush(ARGV[k], 1)
    end
    if records > i + 7 then
      local live, jid = call('HGET', entry, 'live'), ARGV[records - 2]
      if live then call('HDEL', 'jobs:cron:live', live) end
      call('HSET', entry, 'live', jid)
      call('HSET', 'jobs:cron:live', jid, name)
    end
    for k = records + 1, records + ARGV[records] do
      call('XADD', 'jobs:cron:log:' .. name, 'MAXLEN', ARGV[3], '*', 'at', now, 'event', ARGV[k])
    end
  end
  i = endOf(i)
end
if isChanged then
  call('INCR', 'jobs:cron:changes')
  -- The user may lack the permission to publish: schedulers then see the change some seconds later.
  redis.pcall('PUBLISH', 'jobs:wake', 'cron')
end
call('SET', KEYS[1], cmsgpack.pack(result), 'PX', ARGV[4])
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
