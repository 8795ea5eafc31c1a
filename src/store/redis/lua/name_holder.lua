#!lua flags=no-writes
-- Returns the live worker that holds a name.
--
-- KEYS[1]  jobs:claim:NAME
-- ARGV     offset of the clock in ms
-- Result   its ID, when its last heartbeat expires in ms, ms until the name is free, as texts; false if no live worker holds it
-- O(1)

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]

local held = call('HMGET', KEYS[1], 'worker', 'till')
local deadline = held[1] and call('ZSCORE', 'jobs:workers', held[1])
if not deadline then return false end
local left = math.min(tonumber(deadline), tonumber(held[2])) - now
if left <= 0 then return false end
return { held[1], deadline, string.format('%.0f', left) }
