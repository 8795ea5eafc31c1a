#!lua
-- Takes or renews a named lease.
--
-- KEYS[1]  jobs:claim:NAME
-- ARGV     offset of the clock in ms, owner, time to live in ms
-- Result   the fencing number, higher at every change of owner; false when another has the lease
-- O(log N) for N processes

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local owner = ARGV[2]

local held = call('HMGET', KEYS[1], 'owner', 'fence', 'till')
local fence = held[2]
if held[1] and held[1] ~= owner then
  local deadline = call('ZSCORE', 'jobs:owners', held[1])
  if deadline and tonumber(deadline) > now and tonumber(held[3]) > now then return false end
  fence = nil
end
if not fence then fence = call('INCR', 'jobs:fence') end
call('HSET', KEYS[1], 'owner', owner, 'fence', fence, 'till', now + ARGV[3])
-- The stated end counts; Redis only sweeps up, later.
call('PEXPIRE', KEYS[1], ARGV[3] + 60000)
return tonumber(fence)
