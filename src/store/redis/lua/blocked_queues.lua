#!lua flags=no-writes
-- Tells of which queues nothing can be taken now, whatever they have, because they are paused, or at their limit.
--
-- ARGV     offset of the clock in ms, names of queues, the first standing for all of them
-- Result   for each queue but the first: 0 it is open, -1 nobody knows for how long it is not, else for how many ms
-- O(Q + N) for Q queues and the N jobs that count against their limits

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local names = {}
for i = 2, #ARGV do names[#names + 1] = ARGV[i] end
local paused = pausedOf(now, names)
local limits = limitsOf(names)
local closed = {}
for i = 2, #names do
  local for_ms = paused[1] ~= 0 and paused[1] or paused[i]
  local limit = limits[i]
  if for_ms == 0 and limit then
    -- Who takes is told what is the matter where that cannot be read.
    local fine, _, opens = pcall(roomIn, names[i], limit, now)
    if fine then for_ms = opens end
  end
  closed[i - 1] = for_ms
end
return closed
