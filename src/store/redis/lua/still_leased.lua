#!lua flags=no-writes
-- Reads which leases a worker still has.
--
-- KEYS[1]  jobs:leases:WORKER
-- ARGV     tokens
-- Result   those of them that have a lease
-- O(N) for N tokens

local held = {}
for _, token in ipairs(ARGV) do
  if redis.call('HEXISTS', KEYS[1], token) == 1 then held[#held + 1] = token end
end
return held
