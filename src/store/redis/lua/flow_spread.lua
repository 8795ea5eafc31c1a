#!lua flags=allow-oom
-- Pushes or cancels nodes after those that have ended.
--
-- ARGV     offset of the clock in ms, limit
-- Result   1 if more is left, else 0
-- O(L) for a limit of L, and the length of the lists of names

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local hasMore = spread(now, tonumber(ARGV[2]))
countMembers(now)
return hasMore and 1 or 0
