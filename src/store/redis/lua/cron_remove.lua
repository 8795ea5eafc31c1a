#!lua flags=allow-oom
-- Removes a cron entry with its history, if it has not changed since it was read. Sent again because its reply was lost, it
-- returns the same.
--
-- KEYS[1]  jobs:cron:done:WRITE, set once this removal is done
-- ARGV     name, version as read, ms to keep that key
-- Result   1, or 0 if the entry has changed
-- O(N) for N records

local call = redis.call
local entry = 'jobs:cron:entry:' .. ARGV[1]
if call('EXISTS', KEYS[1]) == 1 then return 1 end
if call('HGET', entry, 'version') ~= ARGV[2] then return 0 end
-- Fail on a key of the wrong type before anything is written.
call('HLEN', 'jobs:cron:live')
call('SCARD', 'jobs:cron:names')
checkCount('jobs:cron:changes')
local live = call('HGET', entry, 'live')
if live then call('HDEL', 'jobs:cron:live', live) end
call('DEL', entry, 'jobs:cron:history:' .. ARGV[1])
call('SREM', 'jobs:cron:names', ARGV[1])
call('INCR', 'jobs:cron:changes')
call('SET', KEYS[1], '1', 'PX', ARGV[3])
-- The user may lack the permission to publish: schedulers then see the change some seconds later.
redis.pcall('PUBLISH', 'jobs:wake', 'cron')
return 1
