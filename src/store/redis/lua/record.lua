#!lua flags=allow-oom
-- Keeps the record of a job that has ended.
--
-- ARGV     offset of the clock in ms, most records, jid, time to live in ms ("" for ever), body
-- Result   1
-- O(log N) for N records

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
-- A key of the wrong type must stop us before anything is written.
redis.call('ZCARD', 'jobs:ended')
keepRecord(now, ARGV[3], ARGV[4], ARGV[5])
listRecords(ARGV[2])
return 1
