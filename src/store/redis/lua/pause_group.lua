#!lua flags=allow-oom
-- Pauses a group of a queue, or resumes it. A paused group is held at its next turn.
--
-- ARGV     offset of the clock in ms, queue, group, ms until the pause ends ("" until it is resumed, 0 to resume it)
-- Result   1
-- O(P) for P paused groups of the queue

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local _, queue, group, ms = unpack(ARGV)
local key = 'jobs:groups:paused:' .. queue
checkGroups(queue)
local pauses = call('HGETALL', key)
for i = 1, #pauses, 2 do
  local till = tonumber(pauses[i + 1])
  if not till or till > 0 and till <= now then call('HDEL', key, pauses[i]) end
end
if ms == '0' then
  call('HDEL', key, group)
else
  call('HSET', key, group, ms == '' and '0' or string.format('%.0f', now + ms))
  markGrouped(queue)
end
wakeGroup(queue .. '|' .. group)
endTurns(queue)
return 1
