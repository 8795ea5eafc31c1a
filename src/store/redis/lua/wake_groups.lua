#!lua flags=allow-oom
-- Makes held groups of a queue ready after their limit has changed. Groups that are still at their limit are held again at
-- their next turn.
--
-- ARGV     queue, group ("" for each), max groups
-- Result   how many groups are still held
-- O(N log M) for N of M groups

local call = redis.call
local queue, group = ARGV[1], ARGV[2]
checkGroups(queue)
local held = 'jobs:groups:held:' .. queue
local groups = group ~= '' and { group } or call('ZRANGE', held, 0, ARGV[3] - 1)
for _, one in ipairs(groups) do wakeGroup(queue .. '|' .. one) end
endTurns(queue)
return group == '' and call('ZCARD', held) or 0
