#!lua flags=allow-oom
-- Notes the suspects that a worker runs.
--
-- ARGV     offset of the clock in ms, worker ID, JSON array of the tokens of their leases, 1 if no other job has started
--          since the last of them, else 0
-- O(log N) for N workers

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
-- Fail on a key of the wrong type before anything is written.
redis.call('HLEN', 'jobs:worker:' .. ARGV[2])
-- The rescuer must find a worker that has no heartbeat yet, and its suspects.
redis.call('ZADD', 'jobs:workers', 'NX', now, ARGV[2])
redis.call('HSET', 'jobs:worker:' .. ARGV[2], 'suspects', ARGV[3], 'alone', ARGV[4])
return redis.status_reply('OK')
