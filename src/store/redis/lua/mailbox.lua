--- script send(; now, worker, command, signal, token)
-- Sends a command to an online worker: to a worker of this program through its list of commands, to a worker of Sidekiq through
-- its list of signals. With the token of a lease, the command cancels its job: it is sent if the worker still has the lease, even
-- if it is offline, and the lease is marked, so that the job never returns to its queue. A frozen worker finds the command later.
--
-- command  JSON
-- signal   that of Sidekiq with the same meaning, "" for none
-- token    of a lease, "" for none
-- Result   1, or 0 if no such worker is alive, it doesn't support the command, or it doesn't have the lease
-- O(log N) for N workers

local call = redis.call
local key, value = 'jobs:commands:' .. worker, command
local deadline = call('ZSCORE', 'jobs:workers', worker)
if token ~= '' then
  if call('HEXISTS', 'jobs:leases:' .. worker, token) == 0 then return 0 end
elseif deadline then
  if tonumber(deadline) <= now then return 0 end
elseif signal ~= '' and call('EXISTS', worker) == 1 and call('SISMEMBER', 'processes', worker) == 1 then
  key, value = worker .. '-signals', signal
else
  return 0
end
-- A cancellation must reach a worker that is frozen for days, and those after it must not shorten that.
local seconds = math.max(token == '' and 60 or 604800, call('TTL', key))
if token ~= '' then
  local cancelled = 'jobs:cancelled:' .. worker
  -- Fail on a key of the wrong type before anything is written.
  call('LLEN', key)
  -- Marks of leases that have ended: each call removes more than it adds.
  for _, other in ipairs(call('SRANDMEMBER', cancelled, 2)) do
    if call('HEXISTS', 'jobs:leases:' .. worker, other) == 0 then call('SREM', cancelled, other) end
  end
  call('SADD', cancelled, token)
end
call('LPUSH', key, value)
call('EXPIRE', key, seconds)
return 1

--- script reply(replies; now, text)
-- Stores the reply to a command for a minute.
--
-- replies  jobs:reply:ID
-- Result   nothing
-- O(1)

local call = redis.call
-- The time in the value counts. Redis only deletes the key.
call('LPUSH', replies, string.format('%d ', now + 60000) .. text)
call('EXPIRE', replies, 60)
