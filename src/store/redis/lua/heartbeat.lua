#!lua flags=allow-oom
-- Stores a worker's heartbeat and its running jobs, in Sidekiq's keys and ours.
--
-- ARGV     worker ID, offset of the clock in ms, TTL in ms,
--          info (JSON), concurrency, busy, rtt_us, quiet ("true" or "false"), rss in kB,
--          then per running job: label of its task, JSON
-- Result   1 if the worker was offline and a rescue took leases from it, else 0;
--          then the signals that were sent to it in Sidekiq's way, oldest first
-- O(N) for N running jobs; for a worker's first heartbeat also O(M log M) for M workers

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]
local worker = ARGV[1]
local seconds = math.max(60, math.ceil(ARGV[3] / 1000))

local deadline = call('ZSCORE', 'jobs:workers', worker)
local lapsed = not deadline or tonumber(deadline) <= now
-- A server that lost its data has rescued nothing.
if lapsed then lapsed = call('EXISTS', 'jobs:rescued:' .. worker) == 1 end

-- Fail on a key of the wrong type before anything is written.
call('SCARD', 'processes')
call('HLEN', worker)
call('LLEN', worker .. '-signals')

-- `since`: from when on the heartbeats of this worker have been continuous. offline.lua uses it to find offline workers.
local ttl = tonumber(ARGV[3])
local known = call('HMGET', 'jobs:worker:' .. worker, 'ttl', 'since')
local last = deadline and known[1] and deadline - known[1]
if not last or last > now then
  -- The clock may have been set back. Heartbeats in the future count from now: an offline worker would otherwise look alive
  -- until the clock is there again.
  local ahead = call('ZRANGE', 'jobs:workers', '(' .. string.format('%.0f', now), '+inf', 'BYSCORE', 'WITHSCORES')
  for i = 1, #ahead, 2 do
    local itsTtl = call('HGET', 'jobs:worker:' .. ahead[i], 'ttl')
    if itsTtl and ahead[i + 1] - itsTtl > now then
      call('ZADD', 'jobs:workers', now + itsTtl, ahead[i])
      call('HSET', 'jobs:worker:' .. ahead[i], 'since', string.format('%.0f', now))
    end
  end
end
local continuous = last and last <= now and now - last < ttl / 2
call('HSET', 'jobs:worker:' .. worker, 'ttl', ARGV[3],
  'since', continuous and known[2] or string.format('%.0f', now))
call('HDEL', 'jobs:worker:' .. worker, 'judged', 'ended')
call('ZADD', 'jobs:workers', now + ttl, worker)
call('SADD', 'processes', worker)
call('HSET', worker, 'info', ARGV[4], 'concurrency', ARGV[5], 'busy', ARGV[6],
  'beat', string.format('%.3f', now / 1000), 'rtt_us', ARGV[7], 'quiet', ARGV[8], 'rss', ARGV[9])
call('EXPIRE', worker, seconds)
-- Sidekiq 6.5 and later read the first key, earlier versions the second.
for _, work in ipairs({ worker .. ':work', worker .. ':workers' }) do
  call('UNLINK', work)
  if #ARGV > 9 then
    call('HSET', work, unpack(ARGV, 10))
    call('EXPIRE', work, seconds)
  end
end
return { lapsed and 1 or 0, unpack(call('RPOP', worker .. '-signals', 16) or {}) }
