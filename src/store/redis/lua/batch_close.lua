#!lua flags=allow-oom
-- Closes a batch.
--
-- ARGV     offset of the clock in ms, id, "closed", "cancelled" or "abandoned"
-- Result   1 if this call closed it, else 0; how it is closed now; the waiting nodes that this call cancelled. Empty for an
--          unknown batch
-- O(log N) for N batches, and for each parent batch

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
return { closeBatch(now, ARGV[2], ARGV[3]) }
