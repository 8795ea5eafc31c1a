#!lua
-- Deletes steps of a job.
--
-- KEYS[1]  jobs:steps:JID
-- ARGV     names; none: all steps
-- Result   how many it deleted
-- O(N) for N steps

local call = redis.call
local names = {}
for _, name in ipairs(#ARGV > 0 and ARGV or call('HKEYS', KEYS[1])) do
  -- The field without a name isn't a step.
  if name ~= '' then names[#names + 1] = name end
end
forgetWaits(KEYS[1], names)
local cleared = #names > 0 and call('HDEL', KEYS[1], unpack(names)) or 0
-- Without steps, the time at which a job wakes is of no use. A mark of a running job stays: it must not sleep.
if call('HLEN', KEYS[1]) == 1 and call('HGET', KEYS[1], '') ~= 'wake' then call('HDEL', KEYS[1], '') end
return cleared
