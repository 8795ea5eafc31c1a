#!lua
-- Changes crontab entries, each if it is as it was read, with the jobs that follow. Sent again because the answer was lost,
-- it changes nothing and answers the same.
--
-- KEYS[1]  jobs:cron:done:WRITE, the answer to this write
-- ARGV     offset of the clock in ms, wire (7 or 8), most records of an entry, for how many ms to remember the answer,
--          then per entry: name, version as read (0 for none), state, "1" if the end of its job is awaited or "",
--            "define" and its definition, or "keep" and "",
--            number of jobs, per job: queue, jid, payload without its closing brace,
--            number of records, the records
-- Result   per entry its new version; 0 if it had moved on
-- O(N) for N arguments

local call = redis.call
local answer = call('GET', KEYS[1])
if answer then return cmsgpack.unpack(answer) end

local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local enqueuedAt = ',"enqueued_at":' .. (ARGV[2] == '8' and string.format('%d', now) or string.format('%.3f', now / 1000)) .. '}'

-- Where the next entry begins.
local function endOf(i)
  local records = i + 7 + 3 * ARGV[i + 6]
  return records + 1 + ARGV[records]
end

-- A key of the wrong type must stop us before anything is written.
call('SCARD', 'jobs:cron:names')
call('HLEN', 'jobs:cron:live')
do
  local i = 5
  while i <= #ARGV do
    call('HLEN', 'jobs:cron:entry:' .. ARGV[i])
    call('LLEN', 'jobs:cron:history:' .. ARGV[i])
    for k = i + 7, i + 4 + 3 * ARGV[i + 6], 3 do call('LLEN', 'queue:' .. ARGV[k]) end
    i = endOf(i)
  end
end

local result = {}
local told = false
local i = 5
while i <= #ARGV do
  local name = ARGV[i]
  local entry = 'jobs:cron:entry:' .. name
  if (call('HGET', entry, 'version') or '0') ~= ARGV[i + 1] then
    result[#result + 1] = 0
  else
    local version = call('INCR', 'jobs:cron:version')
    result[#result + 1] = version
    call('SADD', 'jobs:cron:names', name)
    call('HSET', entry, 'version', version, 'state', ARGV[i + 2])
    if ARGV[i + 3] == '1' then call('HSET', entry, 'awaited', '1') else call('HDEL', entry, 'awaited') end
    if ARGV[i + 4] == 'define' then
      call('HSET', entry, 'definition', ARGV[i + 5], 'seen', now)
      told = true
    end
    local records = i + 7 + 3 * ARGV[i + 6]
    for k = i + 7, records - 3, 3 do
      call('LPUSH', 'queue:' .. ARGV[k], ARGV[k + 2] .. enqueuedAt)
      pushed(ARGV[k], 1)
    end
    if records > i + 7 then
      local live, jid = call('HGET', entry, 'live'), ARGV[records - 2]
      if live then call('HDEL', 'jobs:cron:live', live) end
      call('HSET', entry, 'live', jid)
      call('HSET', 'jobs:cron:live', jid, name)
    end
    if ARGV[records] ~= '0' then
      for k = records + 1, records + ARGV[records] do call('LPUSH', 'jobs:cron:history:' .. name, ARGV[k]) end
      call('LTRIM', 'jobs:cron:history:' .. name, 0, ARGV[3] - 1)
    end
  end
  i = endOf(i)
end
if told then
  call('INCR', 'jobs:cron:told')
  -- It fails where the user may not publish; schedulers then see it some seconds later.
  redis.pcall('PUBLISH', 'jobs:wake', 'cron')
end
call('SET', KEYS[1], cmsgpack.pack(result), 'PX', ARGV[4])
return result
