#!lua flags=allow-oom
-- Takes leases away from offline workers: back to the front of their queues, or to `dead`. Forgets the workers that have
-- none left. One that beats again keeps what it has.
--
-- ARGV     offset of the clock in ms, the worker that rescues, most members of `dead`, their greatest age in ms,
--          then per process: identity, number of leases,
--            per lease, youngest first: token, "back" or "dead", payload ("" for as it is),
--              jid of one that ends with this: its unique lock is let go ("" for none)
-- Result   given back, buried, then the identities of those that were dead
-- O(N) for N leases

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local isOffline = offlineFor(ARGV[2], now)
local rescued, buried = 0, 0
local dead = {}

call('ZCARD', 'dead')
local i = 5
while i <= #ARGV do
  local owner, last = ARGV[i], i + 1 + 4 * ARGV[i + 1]
  local key = 'jobs:leases:' .. owner
  local deadline = call('ZSCORE', 'jobs:owners', owner)
  if deadline and tonumber(deadline) <= now and isOffline(owner, tonumber(deadline)) then
    local robbed = false
    for k = i + 2, last, 4 do
      local token, payload = ARGV[k], call('HGET', key, ARGV[k])
      if payload then
        if ARGV[k + 2] ~= '' then payload = ARGV[k + 2] end
        if ARGV[k + 1] == 'dead' then
          add('dead', now, payload)
          buried = buried + 1
        else
          local queue = string.match(token, ':(.*)$')
          call('RPUSH', 'queue:' .. queue, payload)
          call('SADD', 'queues', queue)
          rescued = rescued + 1
        end
        call('HDEL', key, token)
        robbed = true
        local jid = ARGV[k + 3]
        if jid ~= '' then
          unlock(jid)
          endLive(jid)
        end
      end
    end
    -- Should it live after all, it is told which of its outcomes come too late.
    if robbed then call('SET', 'jobs:robbed:' .. owner, '1', 'EX', 604800) end
    if call('HLEN', key) == 0 then
      call('ZREM', 'jobs:owners', owner)
      call('SREM', 'processes', owner)
      call('UNLINK', 'jobs:owner:' .. owner, owner, owner .. ':work', owner .. ':workers', owner .. '-signals', 'jobs:commands:' .. owner)
    end
    dead[#dead + 1] = owner
  end
  i = last + 1
end
if buried > 0 then trimDead(now, ARGV[3], ARGV[4]) end
return { rescued, buried, unpack(dead) }
