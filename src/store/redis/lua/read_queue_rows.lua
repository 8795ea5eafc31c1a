#!lua flags=no-writes
-- Reads the rows of queues that stats.lua only named, because there are more than it may read.
--
-- ARGV     offset of the clock in ms, names of queues
-- Result   per queue a row (queue_rows.lua)
-- O(Q) for Q queues, up to 1,000 groups, and the jobs that count against limits

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local names = {}
for i = 2, #ARGV do names[#names + 1] = ARGV[i] end
return rowsOf(now, names)
