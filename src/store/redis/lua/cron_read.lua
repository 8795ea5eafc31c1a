#!lua
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
