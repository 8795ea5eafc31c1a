#!lua flags=no-writes
-- Finds the group of a queue whose oldest job has been queued for the longest time.
--
-- ARGV     offset of the clock in ms, queue, groups
-- Result   the group, ms since its oldest job was enqueued; nothing if that is unknown of all
-- O(N) for N groups

local call = redis.call
local slowest, first
for i = 3, #ARGV do
  -- A key of another type must not hide the other groups.
  local oldest = redis.pcall('LINDEX', 'queue:' .. ARGV[2] .. '|' .. ARGV[i], -1)
  local at = type(oldest) == 'string' and enqueuedAt(oldest)
  if at and (not first or at < first) then slowest, first = ARGV[i], at end
end
if not slowest then return {} end
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
return { slowest, math.max(0, math.floor(now - first)) }
