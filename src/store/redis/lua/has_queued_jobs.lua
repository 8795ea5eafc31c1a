#!lua flags=no-writes
-- Returns whether a queue that isn't paused has jobs outside of paused groups.
--
-- ARGV     offset of the clock in ms, names of queues; the first one stands for all queues
-- Result   1 or 0
-- O(Q + P) for Q queues and their P paused groups

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local names = {}
for i = 2, #ARGV do names[#names + 1] = ARGV[i] end
local paused = pausedOf(now, names)
if paused[1] ~= 0 then return 0 end
for i = 2, #names do
  -- A key of another type has no jobs.
  local length = paused[i] == 0 and redis.pcall('LLEN', 'queue:' .. names[i])
  if type(length) == 'number' and length > 0 then return 1 end
  local inGroups = length == 0 and tonumber(redis.call('HGET', 'jobs:groups:state:' .. names[i], 'size')) or 0
  if inGroups > 0 then
    for _, group in ipairs(redis.call('HKEYS', 'jobs:groups:paused:' .. names[i])) do
      if groupPausedFor(now, names[i], group) ~= 0 then
        inGroups = inGroups - redis.call('LLEN', 'queue:' .. names[i] .. '|' .. group)
      end
    end
    if inGroups > 0 then return 1 end
  end
end
return 0
