#!lua flags=allow-oom
-- Corrects the counters of the members that are in the store, if the batch has not changed since it was read.
--
-- ARGV     offset of the clock in ms, id, version as read, pending, dead
-- Result   1 if it corrected them, else 0
-- O(log N) for N batches

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local key = 'jobs:batch:' .. ARGV[2]
local version, pending, dead = unpack(call('HMGET', key, 'version', 'pending', 'dead'))
if version ~= ARGV[3] or not isBatch(key) then return 0 end
call('ZCARD', 'jobs:batches:due')
call('HINCRBY', key, 'total', ARGV[4] - pending + ARGV[5] - dead)
call('HSET', key, 'pending', ARGV[4], 'dead', ARGV[5])
call('HINCRBY', key, 'version', 1)
apart(advanceBatch, now, ARGV[2])
apart(countMembers, now)
return 1
