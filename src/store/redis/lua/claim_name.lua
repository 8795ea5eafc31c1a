#!lua
-- Claims a worker name, or renews the claim.
--
-- KEYS[1]  jobs:claim:NAME
-- ARGV     offset of the clock in ms, owner, time to live in ms
-- Result   1, or 0 if another worker holds the name
-- O(log N) for N processes

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local owner = ARGV[2]

local held = call('HMGET', KEYS[1], 'owner', 'till')
if held[1] and held[1] ~= owner then
  local deadline = call('ZSCORE', 'jobs:owners', held[1])
  if deadline and tonumber(deadline) > now and tonumber(held[2]) > now then return 0 end
end
call('HSET', KEYS[1], 'owner', owner, 'till', now + ARGV[3])
-- `till` counts; Redis only cleans up, later.
call('PEXPIRE', KEYS[1], ARGV[3] + 60000)
return 1
