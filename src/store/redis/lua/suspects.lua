#!lua flags=allow-oom
-- Notes the suspects that a worker runs.
--
-- ARGV     offset of the clock in ms, the worker, JSON array of the tokens of their leases, 1 or 0: whether no other job
--          has started since the last of them
-- O(log N) for N workers

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
-- A worker without a heartbeat must be found by the rescuer, and with it what is noted here.
redis.call('ZADD', 'jobs:owners', 'NX', now, ARGV[2])
redis.call('HSET', 'jobs:owner:' .. ARGV[2], 'suspects', ARGV[3], 'alone', ARGV[4])
return redis.status_reply('OK')
