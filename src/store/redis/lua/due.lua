#!lua flags=no-writes
-- Reads the members of `retry` and `schedule` whose time has come, earliest first in each.
--
-- ARGV     offset of the clock in ms, limit
-- Result   now in ms, then from `retry` and then from `schedule`: member, score (flat)
-- O(N + log M) for N of M members

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local till = string.format('%.3f', now / 1000)
return {
  now,
  call('ZRANGE', 'retry', '-inf', till, 'BYSCORE', 'LIMIT', 0, ARGV[2], 'WITHSCORES'),
  call('ZRANGE', 'schedule', '-inf', till, 'BYSCORE', 'LIMIT', 0, ARGV[2], 'WITHSCORES'),
}
