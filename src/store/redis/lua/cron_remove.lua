#!lua flags=allow-oom
-- Removes a crontab entry with its history, if it is as it was read.
--
-- ARGV     name, version as read
-- Result   1, or 0 if it had moved on
-- O(N) for N records

local call = redis.call
local entry = 'jobs:cron:entry:' .. ARGV[1]
if call('HGET', entry, 'version') ~= ARGV[2] then return 0 end
local live = call('HGET', entry, 'live')
if live then call('HDEL', 'jobs:cron:live', live) end
call('DEL', entry, 'jobs:cron:history:' .. ARGV[1])
call('SREM', 'jobs:cron:names', ARGV[1])
call('INCR', 'jobs:cron:told')
-- It fails where the user may not publish; schedulers then see it some seconds later.
redis.pcall('PUBLISH', 'jobs:wake', 'cron')
return 1
