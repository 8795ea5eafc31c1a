#!lua
-- Removes a queue that is empty, not paused and not limited. A running job that returns to the queue adds it again.
--
-- ARGV     offset of the clock in ms, name
-- Result   1, or 0 if the queue isn't removed
-- O(1)

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local name = ARGV[2]
if call('LLEN', 'queue:' .. name) > 0 or pausedOf(now, { name })[1] ~= 0 then return 0 end
if call('HEXISTS', 'jobs:limits', name) == 1 then return 0 end
return call('SREM', 'queues', name)
