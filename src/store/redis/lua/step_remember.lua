#!lua
-- Writes a step of a job under its lease, unless the step has succeeded already.
--
-- KEYS[1]  jobs:leases:WORKER
-- KEYS[2]  jobs:steps:JID
-- ARGV     token, name, record
-- Result   1 if it was written, the stored record if the step had succeeded, false if the worker has lost the lease
-- O(1)

local call = redis.call
if call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return false end
if call('HSETNX', KEYS[2], ARGV[2], ARGV[3]) == 1 then return 1 end
local present = call('HGET', KEYS[2], ARGV[2])
if string.sub(present, 1, 21) == '{"state":"succeeded",' then return present end
call('HSET', KEYS[2], ARGV[2], ARGV[3])
return 1
