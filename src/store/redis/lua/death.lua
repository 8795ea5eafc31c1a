#!lua flags=allow-oom
-- Notes how a worker ended, unless it is forgotten.
--
-- ARGV     the worker, how it ended
-- O(log N) for N workers

if redis.call('ZSCORE', 'jobs:owners', ARGV[1]) then redis.call('HSET', 'jobs:owner:' .. ARGV[1], 'ended', ARGV[2]) end
return redis.status_reply('OK')
