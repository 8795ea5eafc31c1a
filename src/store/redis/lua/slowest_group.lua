#!lua flags=no-writes
-- Finds the group of a queue whose oldest job has been queued for the longest time.
--
-- ARGV     offset of the clock in ms, queue, max bytes of the oldest jobs, groups
-- Result   how many of the groups were read, at least one: the others have too many bytes; the group, ms since its oldest job was
--          enqueued: without these if that is unknown of all
-- O(N) for N groups

local call = redis.call
local slowest, first
local bytes, count = tonumber(ARGV[3]), 0
for i = 4, #ARGV do
  if bytes <= 0 then break end
  count = count + 1
  -- A key of another type must not hide the other groups.
  local oldest = redis.pcall('LINDEX', 'queue:' .. ARGV[2] .. '|' .. ARGV[i], -1)
  local at = type(oldest) == 'string' and enqueuedAt(oldest)
  if type(oldest) == 'string' then bytes = bytes - #oldest end
  if at and (not first or at < first) then slowest, first = ARGV[i], at end
end
if not slowest then return { count } end
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
return { count, slowest, math.max(0, math.floor(now - first)) }
