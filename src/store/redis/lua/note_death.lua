#!lua flags=allow-oom
-- Notes how a worker ended, if the store still has the worker.
--
-- ARGV     worker ID, how it ended
-- O(log N) for N workers

if redis.call('ZSCORE', 'jobs:workers', ARGV[1]) then redis.call('HSET', 'jobs:worker:' .. ARGV[1], 'ended', ARGV[2]) end
return redis.status_reply('OK')
