#!lua
-- Pauses a queue, or resumes it. A pause with an end is in a separate set: Sidekiq has no such pauses.
--
-- ARGV     offset of the clock in ms, name, ms until the pause ends ("" until it is resumed, 0 to resume it)
-- O(log P) for P pauses

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
-- Fail on a key of the wrong type before anything is written.
call('SCARD', 'paused')
call('ZREMRANGEBYSCORE', 'jobs:paused-until', '-inf', now)
call('ZREM', 'jobs:paused-until', ARGV[2])
if ARGV[3] == '' then
  call('SADD', 'paused', ARGV[2])
else
  call('SREM', 'paused', ARGV[2])
  if tonumber(ARGV[3]) > 0 then call('ZADD', 'jobs:paused-until', now + ARGV[3], ARGV[2]) end
end
return 1
