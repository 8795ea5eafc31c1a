#!lua flags=allow-oom
-- Lets go of a named lease, if the owner has it.
--
-- KEYS[1]  jobs:claim:NAME
-- ARGV     owner
-- Result   1 when it had it, else 0
-- O(1)

if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
