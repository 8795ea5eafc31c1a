#!lua flags=no-writes
-- Reads the leases with these tokens, up to the limit of bytes.
--
-- KEYS[1]  jobs:leases:WORKER
-- ARGV     max bytes, "1" to read at least one, then tokens
-- Result   the payloads of the first tokens, false for a lease that has ended
-- O(N) for N leases

local bytes = tonumber(ARGV[1])
local result = {}
for i = 3, #ARGV do
  local size = redis.call('HSTRLEN', KEYS[1], ARGV[i])
  if size > bytes and (#result > 0 or ARGV[2] ~= '1') then break end
  bytes = bytes - size
  result[#result + 1] = redis.call('HGET', KEYS[1], ARGV[i])
end
return result
