#!lua
-- Claims a worker name, or renews the claim.
--
-- KEYS[1]  jobs:claim:NAME
-- ARGV     offset of the clock in ms, worker ID, TTL in ms
-- Result   1, or 0 if another worker that isn't offline (offline.lua) holds the name
-- O(log N) for N workers

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local worker = ARGV[2]

local held = call('HMGET', KEYS[1], 'worker', 'till')
if held[1] and held[1] ~= worker then
  local deadline = tonumber(call('ZSCORE', 'jobs:workers', held[1]) or nil)
  if deadline and tonumber(held[2]) > now then
    if deadline > now or not offlineFor(worker, now)(held[1], deadline) then return 0 end
  end
end
call('HSET', KEYS[1], 'worker', worker, 'till', now + ARGV[3])
-- `till` counts. Redis deletes the key later.
call('PEXPIRE', KEYS[1], ARGV[3] + 60000)
return 1
