#!lua flags=allow-oom
-- Keeps the record of an ended job.
--
-- ARGV     offset of the clock in ms, max records, jid, TTL in ms ("" without a limit), body
-- Result   1
-- O(log N) for N records

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
-- Fail on a key of the wrong type before anything is written.
redis.call('ZCARD', 'jobs:ended')
checkCount('jobs:ended:number')
keepRecord(now, ARGV[3], ARGV[4], ARGV[5])
listRecords(ARGV[2])
return 1
