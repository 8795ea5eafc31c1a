-- Included: closes a batch. Returns 1 if this call closed it, else 0; then how the batch is closed now; then how many waiting
-- nodes of a flow this call cancelled. Returns nothing if the batch doesn't exist.
local function closeBatch(now, id, as)
  local call = redis.call
  local key = 'jobs:batch:' .. id
  local there, closedAs, due, waiting = unpack(call('HMGET', key, 'id', 'closed_as', 'due', 'waiting'))
  if not there or not isBatch(key) then return end
  -- A closed batch that has not ended can still be cancelled.
  if closedAs and not (as == 'cancelled' and closedAs == 'closed' and not due) then return 0, closedAs end
  -- Fail on a key of the wrong type before anything is written.
  call('ZCARD', 'jobs:batches:due')
  local flow = 'jobs:flow:' .. id
  call('HLEN', flow)
  for _, list in ipairs({ flow .. ':nodes', flow .. ':roots', 'jobs:flows:pending' }) do call('LLEN', list) end
  call('HSETNX', key, 'closed', now)
  call('HSET', key, 'closed_as', as)
  call('HDEL', key, 'due')
  call('ZREM', 'jobs:batches:due', id)
  apart(advanceBatch, now, id)
  apart(countMembers, now)
  apart(endFlow, now, id, as)
  return 1, as, as == 'closed' and 0 or tonumber(waiting or 0)
end
