#!lua flags=no-writes
-- Reads which queues can give no jobs now because they are paused or at their limit.
--
-- ARGV     offset of the clock in ms, names of queues; the first one stands for all queues
-- Result   per queue without the first: 0 if it is open, -1 if it is closed for an unknown time, else ms until it opens;
--          per queue ms until a group may have work: 0 now, -1 if no group has jobs
-- O(Q + N) for Q queues and the N jobs that count against their limits

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local names = {}
for i = 2, #ARGV do names[#names + 1] = ARGV[i] end
local paused = pausedOf(now, names)
local limits, grouped = limitsOf(names)
local closed = {}
-- When a group gives a job without another event: -1 never, 0 now, else in this many ms.
local groups = {}
for i = 2, #names do
  local closedMs = paused[1] ~= 0 and paused[1] or paused[i]
  local limit = limits[i]
  if closedMs == 0 and limit then
    -- take.lua reports a limit that can't be read.
    local fine, _, opens = pcall(roomIn, names[i], limit, now)
    if fine then closedMs = opens end
  end
  closed[i - 1] = closedMs
  groups[i - 1] = -1
  if grouped[i] and closedMs == 0 then
    if redis.call('EXISTS', 'jobs:groups:ready:' .. names[i]) == 1 then
      groups[i - 1] = 0
    else
      local due = redis.call('ZRANGE', 'jobs:groups:due:' .. names[i], 0, 0, 'WITHSCORES')
      groups[i - 1] = due[2] and math.max(0, due[2] - now) or 1000
    end
  end
end
return { closed, groups }
