--- script heartbeat(; worker, now, ttl, info, concurrency, busy, rttUs, quiet, rssKb, work[task, record]) allow-oom
-- Stores a worker's heartbeat and its running jobs, in Sidekiq's keys and ours.
--
-- ttl      in ms
-- info     JSON of the worker
-- work     its running jobs: the label of the task, JSON
-- Result   1 if the worker was offline and a rescue took leases from it, else 0;
--          then the signals that were sent to it in Sidekiq's way, oldest first
-- O(N) for N running jobs; for a worker's first heartbeat also O(M log M) for M workers

local call = redis.call
local seconds = math.max(60, math.ceil(ttl / 1000))

local deadline = call('ZSCORE', 'jobs:workers', worker)
local lapsed = not deadline or tonumber(deadline) <= now
-- A server that lost its data has rescued nothing.
if lapsed then lapsed = call('EXISTS', 'jobs:rescued:' .. worker) == 1 end

-- Fail on a key of the wrong type before anything is written.
call('SCARD', 'processes')
call('HLEN', worker)
call('LLEN', worker .. '-signals')

-- `since`: from when on the heartbeats of this worker have been continuous. `offline` uses it to find offline workers.
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
-- Sidekiq's key expires. This one stays until the worker is rescued, however long that takes.
call('HSET', 'jobs:worker:' .. worker, 'ttl', ttl, 'info', info,
  'since', continuous and known[2] or string.format('%.0f', now))
call('HDEL', 'jobs:worker:' .. worker, 'judged', 'ended')
call('ZADD', 'jobs:workers', now + ttl, worker)
call('SADD', 'processes', worker)
call('HSET', worker, 'info', info, 'concurrency', concurrency, 'busy', busy,
  'beat', string.format('%.3f', now / 1000), 'rtt_us', rttUs, 'quiet', quiet, 'rss', rssKb)
call('EXPIRE', worker, seconds)
-- Sidekiq 6.5 and later read the first key, earlier versions the second.
for _, key in ipairs({ worker .. ':work', worker .. ':workers' }) do
  call('UNLINK', key)
  for _, job in ipairs(work) do call('HSET', key, job.task, job.record) end
  call('EXPIRE', key, seconds)
end
return { lapsed and 1 or 0, unpack(call('RPOP', worker .. '-signals', 16) or {}) }

--- script claim(claim; now, worker, ttl): offline
-- Claims a worker name, renews the claim, or releases it.
--
-- claim    jobs:claim:NAME
-- ttl      in ms, 0 to release
-- Result   the holder's ID, when its last heartbeat expires in ms ("0" before the first); false if no registered worker holds it.
--          Another worker keeps the name unless it is offline (`offline`)
-- O(log N) for N workers

local call = redis.call

local held = call('HMGET', claim, 'worker', 'till')
local heartbeatUntil = call('ZSCORE', 'jobs:workers', worker) or '0'
local deadline = held[1] and held[1] ~= worker and tonumber(held[2]) > now and call('ZSCORE', 'jobs:workers', held[1])
local other = deadline and { held[1], deadline }
if ttl == '0' then
  if held[1] == worker then call('DEL', claim) end
  return other
end
deadline = tonumber(deadline or nil)
if other and (deadline > now or not offlineFor(worker, now)(held[1], deadline)) then return other end
call('HSET', claim, 'worker', worker, 'till', now + ttl)
-- `till` counts. Redis deletes the key later.
call('PEXPIRE', claim, ttl + 60000)
return { worker, heartbeatUntil }

--- script note(; now, worker, suspects, alone, ended) allow-oom
-- Notes the suspects that a worker runs, or how it ended if the store still has it.
--
-- suspects JSON array of the tokens of their leases, "" to note none
-- alone    "1" if no other job has started since the last of them, else "0"
-- ended    how the worker ended, "" to note nothing
-- O(log N) for N workers

local call = redis.call
local known = 'jobs:worker:' .. worker
-- Fail on a key of the wrong type before anything is written.
call('HLEN', known)
if suspects ~= '' then
  -- The rescuer must find a worker that has no heartbeat yet, and its suspects.
  call('ZADD', 'jobs:workers', 'NX', now, worker)
  call('HSET', known, 'suspects', suspects, 'alone', alone)
end
if ended ~= '' and call('ZSCORE', 'jobs:workers', worker) then call('HSET', known, 'ended', ended) end
return redis.status_reply('OK')

--- script deregister(leases; now, worker) allow-oom: job returnLease groups declared
-- Removes a worker, and returns its leases to the front of their queues. A rescue ends the cancelled jobs.
--
-- leases   jobs:leases:WORKER
-- Result   how many leases were returned
-- O(N log N) for N leases

local call = redis.call
-- Fail on a key of the wrong type before anything is written.
checkCancelled(leases)
local tokens = call('HKEYS', leases)
for _, token in ipairs(tokens) do checkQueue(placeIn(token)) end
call('ZCARD', 'jobs:workers')
call('SCARD', 'processes')
call('HLEN', 'jobs:declared')
-- Youngest first, so that the oldest ends at the very front: the right end.
table.sort(tokens)
for i = #tokens, 1, -1 do
  returnLease(leases, tokens[i], call('HGET', leases, tokens[i]), true)
end
apart(withdraw, now, worker)
call('ZREM', 'jobs:workers', worker)
call('SREM', 'processes', worker)
call('UNLINK', leases, 'jobs:worker:' .. worker, worker, worker .. ':work', worker .. ':workers',
  worker .. '-signals', 'jobs:commands:' .. worker, 'jobs:cancelled:' .. worker)
return #tokens
