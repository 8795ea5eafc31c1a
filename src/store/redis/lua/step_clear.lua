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
  -- The field without a name is no step.
  if name ~= '' then names[#names + 1] = name end
end
uncountWaits(KEYS[1], names)
return #names > 0 and call('HDEL', KEYS[1], unpack(names)) or 0
