#!lua flags=allow-oom
-- Says that a process is alive and what it is doing, in Sidekiq's keys and ours.
--
-- ARGV     identity, offset of the clock in ms, time to live in ms,
--          info (JSON), concurrency, busy, rtt_us, quiet ("true" or "false"), rss in kB,
--          then per running job: label of its task, JSON
-- Result   1 if its time was over and leases were taken away from it, else 0;
--          then the signals that were sent to it in Sidekiq's way, oldest first
-- O(N) for N running jobs

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]
local identity = ARGV[1]
local seconds = math.max(60, math.ceil(ARGV[3] / 1000))

local deadline = call('ZSCORE', 'jobs:owners', identity)
local lapsed = not deadline or tonumber(deadline) <= now
-- A server that has lost its memory has given nothing away.
if lapsed then lapsed = call('EXISTS', 'jobs:robbed:' .. identity) == 1 end
call('ZADD', 'jobs:owners', now + ARGV[3], identity)
call('SADD', 'processes', identity)
call('HSET', identity, 'info', ARGV[4], 'concurrency', ARGV[5], 'busy', ARGV[6],
  'beat', string.format('%.3f', now / 1000), 'rtt_us', ARGV[7], 'quiet', ARGV[8], 'rss', ARGV[9])
call('EXPIRE', identity, seconds)
-- Sidekiq 6.5 and later read the first, earlier ones the second.
for _, work in ipairs({ identity .. ':work', identity .. ':workers' }) do
  call('UNLINK', work)
  if #ARGV > 9 then
    call('HSET', work, unpack(ARGV, 10))
    call('EXPIRE', work, seconds)
  end
end
return { lapsed and 1 or 0, unpack(call('RPOP', identity .. '-signals', 16) or {}) }
