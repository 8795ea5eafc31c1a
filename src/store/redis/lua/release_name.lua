#!lua flags=allow-oom
-- Releases a worker name, if the worker holds it.
--
-- KEYS[1]  jobs:claim:NAME
-- ARGV     worker ID
-- Result   1 if the worker held it, else 0
-- O(1)

if redis.call('HGET', KEYS[1], 'worker') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
