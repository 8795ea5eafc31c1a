#!lua
-- Claims a worker name, renews the claim, or releases it.
--
-- KEYS[1]  jobs:claim:NAME
-- ARGV     offset of the clock in ms, worker ID, TTL in ms (0: release)
-- Result   the holder's ID, when its last heartbeat expires in ms ("0" before the first); false if no registered worker holds it.
--          Another worker keeps the name unless it is offline (offline.lua)
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
