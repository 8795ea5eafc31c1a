#!lua flags=no-writes
-- Reads a page of batches or flows, the latest first.
--
-- KEYS[1]  jobs:batches, or jobs:flows
-- ARGV     ID to continue after ("" for the start), limit
-- Result   per batch: its fields and values
-- O(log N + L) for L of N batches

local from = ARGV[1] == '' and '+' or '(' .. ARGV[1]
local rows = {}
for i, id in ipairs(redis.call('ZRANGE', KEYS[1], from, '-', 'BYLEX', 'REV', 'LIMIT', 0, ARGV[2])) do
  rows[i] = redis.call('HGETALL', 'jobs:batch:' .. id)
end
return rows
