-- Included: tells which workers `rescuer` may rescue: the rule of `Store.rescue`. Returns a function of a worker and its
-- score in jobs:owners.
local function offlineFor(rescuer, now)
  local call = redis.call
  local deadline = call('ZSCORE', 'jobs:owners', rescuer)
  local known = call('HMGET', 'jobs:owner:' .. rescuer, 'ttl', 'since')
  local ttl, since = tonumber(known[1]), tonumber(known[2])
  local last = deadline and ttl and deadline - ttl
  local steady = last and last <= now and now - last < ttl / 2
  return function(owner, score)
    -- A worker without a heartbeat counts from its last take.
    local itsTtl = tonumber(call('HGET', 'jobs:owner:' .. owner, 'ttl') or 0)
    return steady and now >= math.max(score - itsTtl, since) + math.max(itsTtl, ttl)
  end
end
