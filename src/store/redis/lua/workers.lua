--- script heartbeat allow-oom
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

-- `since`: from when on the heartbeats of this worker have been continuous. `offline` uses it to find offline workers.
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

--- script claim: offline
-- Claims a worker name, renews the claim, or releases it.
--
-- KEYS[1]  jobs:claim:NAME
-- ARGV     offset of the clock in ms, worker ID, TTL in ms (0: release)
-- Result   the holder's ID, when its last heartbeat expires in ms ("0" before the first); false if no registered worker holds it.
--          Another worker keeps the name unless it is offline (`offline`)
-- O(log N) for N workers

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local worker = ARGV[2]

local held = call('HMGET', KEYS[1], 'worker', 'till')
local heartbeatUntil = call('ZSCORE', 'jobs:workers', worker) or '0'
local deadline = held[1] and held[1] ~= worker and tonumber(held[2]) > now and call('ZSCORE', 'jobs:workers', held[1])
local other = deadline and { held[1], deadline }
if ARGV[3] == '0' then
  if held[1] == worker then call('DEL', KEYS[1]) end
  return other
end
deadline = tonumber(deadline or nil)
if other and (deadline > now or not offlineFor(worker, now)(held[1], deadline)) then return other end
call('HSET', KEYS[1], 'worker', worker, 'till', now + ARGV[3])
-- `till` counts. Redis deletes the key later.
call('PEXPIRE', KEYS[1], ARGV[3] + 60000)
return { worker, heartbeatUntil }

--- script note allow-oom
-- Notes the suspects that a worker runs, or how it ended if the store still has it.
--
-- ARGV     offset of the clock in ms, worker ID, JSON array of the tokens of the suspects' leases ("" to note none),
--          1 if no other job has started since the last of them, else 0, how the worker ended ("" to note nothing)
-- O(log N) for N workers

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local worker = 'jobs:worker:' .. ARGV[2]
-- Fail on a key of the wrong type before anything is written.
call('HLEN', worker)
if ARGV[3] ~= '' then
  -- The rescuer must find a worker that has no heartbeat yet, and its suspects.
  call('ZADD', 'jobs:workers', 'NX', now, ARGV[2])
  call('HSET', worker, 'suspects', ARGV[3], 'alone', ARGV[4])
end
if ARGV[5] ~= '' and call('ZSCORE', 'jobs:workers', ARGV[2]) then call('HSET', worker, 'ended', ARGV[5]) end
return redis.status_reply('OK')

--- script deregister allow-oom: returnLease groups
-- Removes a worker, and returns its leases to the front of their queues. A rescue ends the cancelled jobs.
--
-- KEYS[1]  jobs:leases:WORKER
-- ARGV     worker ID
-- Result   how many leases were returned
-- O(N log N) for N leases

local call = redis.call
local worker = ARGV[1]
-- Fail on a key of the wrong type before anything is written.
checkCancelled(KEYS[1])
local tokens = call('HKEYS', KEYS[1])
for _, token in ipairs(tokens) do checkQueue(placeIn(token)) end
call('ZCARD', 'jobs:workers')
call('SCARD', 'processes')
-- Youngest first, so that the oldest ends at the very front: the right end.
table.sort(tokens)
for i = #tokens, 1, -1 do
  returnLease(KEYS[1], tokens[i], call('HGET', KEYS[1], tokens[i]))
end
call('ZREM', 'jobs:workers', worker)
call('SREM', 'processes', worker)
call('UNLINK', KEYS[1], 'jobs:worker:' .. worker, worker, worker .. ':work', worker .. ':workers',
  worker .. '-signals', 'jobs:commands:' .. worker, 'jobs:cancelled:' .. worker)
return #tokens
