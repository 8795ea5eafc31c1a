--- part offline
-- The rule of `JobStore.rescue`. Returns a function that decides whether `rescuer` may rescue a worker, by the
-- worker's ID and its score in jobs:workers.
local function offlineFor(rescuer, now)
  local call = redis.call
  local deadline = call('ZSCORE', 'jobs:workers', rescuer)
  local known = call('HMGET', 'jobs:worker:' .. rescuer, 'ttl', 'since')
  local ttl, since = tonumber(known[1]), tonumber(known[2])
  local last = deadline and ttl and deadline - ttl
  local steady = last and last <= now and now - last < ttl / 2
  return function(worker, score)
    -- No worker has this ID: see returnLease.
    if worker == 'cancelled' then return true end
    -- For a worker without a heartbeat, its last take counts.
    local itsTtl = tonumber(call('HGET', 'jobs:worker:' .. worker, 'ttl') or 0)
    return steady and now >= math.max(score - itsTtl, since) + math.max(itsTtl, ttl)
  end
end

--- script readOfflineLeases(; now, rescuer, limit, maxBytes) no-writes: offline sidekiq
-- Reads the leases of offline workers, youngest first: up to the limits of number and bytes, but at least one.
--
-- rescuer  ID of the worker that rescues
-- Result   1 if jobs wait aside in a queue from which Sidekiq takes, too, else 0;
--          1 if workers with leases are past their timeout but may be alive, else 0;
--          1 if offline workers have more leases than this result, else 0;
--          then per offline worker, also without leases: worker ID, how it ended (""), 1 if no job started since its last
--            suspect, else 0, number of its suspects that have a lease, their tokens,
--            then per lease: token, payload, "1" if its job was cancelled, else ""
-- O(N log N) for N leases of these workers

local call = redis.call
local isOffline = offlineFor(rescuer, now)
local left = tonumber(limit)
local bytes = tonumber(maxBytes)
local count = 0
local waits, more = 0, 0
local result = {}

-- Returns how a worker ended, whether only its suspects ran, and their tokens: of those that still have a lease, or, once a
-- rescue has begun, of those that had one when it began.
local function lastMoments(worker)
  local known = call('HMGET', 'jobs:worker:' .. worker, 'suspects', 'alone', 'judged', 'ended')
  local suspects = {}
  for _, token in ipairs(known[1] and cjson.decode(known[1]) or {}) do
    if known[3] or call('HEXISTS', 'jobs:leases:' .. worker, token) == 1 then suspects[#suspects + 1] = token end
  end
  return known[4] or '', tonumber(known[2] or 0), suspects
end

local workers = call('ZRANGE', 'jobs:workers', '-inf', now, 'BYSCORE', 'LIMIT', 0, 1000, 'WITHSCORES')
for w = 1, #workers, 2 do
  local worker = workers[w]
  local key = 'jobs:leases:' .. worker
  if not isOffline(worker, tonumber(workers[w + 1])) then
    if call('EXISTS', key) == 1 then waits = 1 end
  elseif left == 0 then
    more = 1
  else
    local tokens = call('HKEYS', key)
    table.sort(tokens)
    local ended, alone, suspects = lastMoments(worker)
    local leases = { worker, ended, alone, #suspects }
    for _, token in ipairs(suspects) do leases[#leases + 1] = token end
    for i = #tokens, 1, -1 do
      local size = call('HSTRLEN', key, tokens[i])
      if count > 0 and size > bytes then left = 0 end
      if left == 0 then
        more = 1
        break
      end
      leases[#leases + 1] = tokens[i]
      leases[#leases + 1] = call('HGET', key, tokens[i])
      local isCancelled = worker == 'cancelled' or call('SISMEMBER', 'jobs:cancelled:' .. worker, tokens[i]) == 1
      leases[#leases + 1] = isCancelled and '1' or ''
      left = left - 1
      bytes = bytes - size
      count = count + 1
    end
    result[#result + 1] = leases
  end
end
local shared, known = 0, {}
for _, queue in ipairs(redis.pcall('SMEMBERS', 'jobs:asides')) do
  if isSharedWithSidekiq(queue, known) then shared = 1 end
end
return { shared, waits, more, unpack(result) }

--- script rescue(; now, rescuer, workers[worker, suspects, leases[token, payload]]) allow-oom: job replace returnLease offline events declared
-- Returns leases of offline workers to the front of their queues. Removes the workers without leases. A worker whose
-- heartbeats have resumed keeps its leases.
--
-- rescuer  ID of the worker that rescues
-- workers  suspects: those that had a lease when it was found offline (JSON array of tokens);
--           leases: youngest first; payload: "" for a doomed one, which stays
-- Result   how many were returned, then the IDs of the workers that were offline
-- O(N) for N leases

local call = redis.call
-- Fail on a key of the wrong type before anything is written.
call('SCARD', 'processes')
for _, found in ipairs(workers) do checkCancelled('jobs:leases:' .. found.worker) end
local isOffline = offlineFor(rescuer, now)
local rescued = 0
local offline = {}

for _, found in ipairs(workers) do
  local worker = found.worker
  local key = 'jobs:leases:' .. worker
  local deadline = call('ZSCORE', 'jobs:workers', worker)
  if deadline and tonumber(deadline) <= now and isOffline(worker, tonumber(deadline)) then
    local isRescued = false
    local record = 'jobs:worker:' .. worker
    if call('EXISTS', record) == 1 and call('HEXISTS', record, 'judged') == 0 then
      apart(recordEvent, now, '"type":"worker.offline","worker":' .. cjson.encode(worker))
    end
    for _, lease in ipairs(found.leases) do
      local token, payload = lease.token, lease.payload
      if call('HEXISTS', key, token) == 1 then
        isRescued = true
        if payload ~= '' then
          -- A lease whose queue can't be written stays, and the others return.
          local stored = apart(returnLease, key, token, exactOf(key, token, payload) or payload)
          if stored then
            -- A suspect's payload has changed.
            apart(noteReplaceable, 'queue:' .. placeIn(token), stored)
            rescued = rescued + 1
          end
        end
      end
    end
    -- If the worker is alive after all, the mark makes `settle` check each of its tokens.
    if isRescued then call('SET', 'jobs:rescued:' .. worker, '1', 'EX', 604800) end
    if call('HLEN', key) == 0 then
      apart(withdraw, now, worker)
      call('ZREM', 'jobs:workers', worker)
      call('SREM', 'processes', worker)
      call('UNLINK', 'jobs:worker:' .. worker, worker, worker .. ':work', worker .. ':workers', worker .. '-signals',
        'jobs:commands:' .. worker, 'jobs:cancelled:' .. worker)
    else
      call('HSET', 'jobs:worker:' .. worker, 'suspects', found.suspects, 'judged', '1')
    end
    offline[#offline + 1] = worker
  end
end
return { rescued, unpack(offline) }
