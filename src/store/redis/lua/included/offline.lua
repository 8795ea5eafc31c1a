-- Included: the rule of `JobStore.rescue`. Returns a function that decides whether `rescuer` may rescue a worker, by the
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
