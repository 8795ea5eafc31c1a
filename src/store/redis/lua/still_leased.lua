#!lua flags=no-writes
-- Tells which leases a process still has.
--
-- KEYS[1]  jobs:leases:OWNER
-- ARGV     the tokens asked about
-- Result   those of them that it has
-- O(N) for N tokens

local held = {}
for _, token in ipairs(ARGV) do
  if redis.call('HEXISTS', KEYS[1], token) == 1 then held[#held + 1] = token end
end
return held
