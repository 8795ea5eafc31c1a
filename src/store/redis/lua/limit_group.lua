#!lua flags=allow-oom
-- Limits a group of a queue, or each group without a separate limit. Runs twice, with count_leases.lua in between: "begin"
-- makes take.lua count the leases of groups, "set" applies the limit, or removes it. A value that isn't a limit marks "begin".
-- If the process dies in between, leases are counted until the next call. No limit is exceeded.
--
-- ARGV     "begin" or "set", offset of the clock in ms, queue, group ("" for each), max running, max starts, per ms, weight:
--          0 for none; ms until the limit ends (0: until it is changed)
-- Result   1 if leases of groups are counted, else 0
-- O(1)

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]
local verb, queue, group, running, starts, per, weight, ttl = ARGV[1], unpack(ARGV, 3)
local key = 'jobs:groups:limits:' .. queue

-- Fail on a key of the wrong type before anything is written.
call('HLEN', 'jobs:limits')
if running == '0' and starts == '0' and weight == '0' then
  if verb == 'set' then call('HDEL', key, group) end
elseif verb == 'begin' then
  call('HSETNX', key, group, 'counting')
  markGrouped(queue)
else
  local till = ttl == '0' and '0' or string.format('%.0f', now + ttl)
  call('HSET', key, group, table.concat({ running, starts, per, weight, till }, ' '))
  markGrouped(queue)
end
return call('EXISTS', key)
