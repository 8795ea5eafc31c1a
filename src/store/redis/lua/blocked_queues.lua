#!lua flags=no-writes
-- Tells of which queues nothing can be taken now, whatever they have, because they are paused, or at their limit.
--
-- ARGV     offset of the clock in ms, names of queues, the first standing for all of them
-- Result   for each queue but the first: 0 it is open, -1 it is closed for an unknown time, else for how many ms;
--          for each in how many ms a group may have work: 0 now, -1 it has none
-- O(Q + N) for Q queues and the N jobs that count against their limits

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local names = {}
for i = 2, #ARGV do names[#names + 1] = ARGV[i] end
local paused = pausedOf(now, names)
local limits, grouped = limitsOf(names)
local closed = {}
-- When time alone brings a job of a group: -1 never, 0 now, else in how many ms.
local groups = {}
for i = 2, #names do
  local for_ms = paused[1] ~= 0 and paused[1] or paused[i]
  local limit = limits[i]
  if for_ms == 0 and limit then
    -- Who takes is told what is the matter where that cannot be read.
    local fine, _, opens = pcall(roomIn, names[i], limit, now)
    if fine then for_ms = opens end
  end
  closed[i - 1] = for_ms
  groups[i - 1] = -1
  if grouped[i] and for_ms == 0 then
    if redis.call('EXISTS', 'jobs:groups:ready:' .. names[i]) == 1 then
      groups[i - 1] = 0
    else
      local due = redis.call('ZRANGE', 'jobs:groups:due:' .. names[i], 0, 0, 'WITHSCORES')
      groups[i - 1] = due[2] and math.max(0, due[2] - now) or 1000
    end
  end
end
return { closed, groups }
