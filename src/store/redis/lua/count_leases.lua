#!lua flags=allow-oom
-- Counts leases of a queue's groups against the limits of these groups, or stops counting them if the queue has no limits for
-- groups. take.lua counts later leases.
--
-- KEYS[1]  jobs:leases:WORKER
-- ARGV     worker ID, queue, then tokens of its groups
-- O(N) for N leases

local call = redis.call
local isLimited = call('EXISTS', 'jobs:groups:limits:' .. ARGV[2]) == 1
for i = 3, #ARGV do
  local running = 'jobs:running:' .. string.match(ARGV[i], ':(.*)$')
  if isLimited and call('HEXISTS', KEYS[1], ARGV[i]) == 1 then
    call('HSET', running, ARGV[i], ARGV[1])
  else
    call('HDEL', running, ARGV[i])
  end
end
return redis.status_reply('OK')
