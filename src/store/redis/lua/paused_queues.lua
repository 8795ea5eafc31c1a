#!lua flags=no-writes
-- Reads which queues are paused.
--
-- ARGV     offset of the clock in ms, names of queues
-- Result   per queue: 0 not paused, -1 until it is resumed, else the remaining ms
-- O(Q) for Q queues

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local names = {}
for i = 2, #ARGV do names[#names + 1] = ARGV[i] end
return pausedOf(now, names)
