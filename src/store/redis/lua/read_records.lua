#!lua flags=no-writes
-- Reads records of ended jobs, the latest first: up to the limits of number and bytes, but at least one.
--
-- ARGV     the number before which to begin ("+inf", or "(" and a number), limit, max bytes
-- Result   the number of the last record that was looked up, "" if no more follow; 1 if the next one exceeds the bytes, else 0;
--          then the records, without the expired ones
-- O(N + log M) for N of M records

local call = redis.call
local limit, bytes = tonumber(ARGV[2]), tonumber(ARGV[3])
local members = call('ZRANGE', 'jobs:ended', ARGV[1], '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, limit, 'WITHSCORES')
local result = { #members < 2 * limit and '' or members[#members], 0 }
for i = 1, #members, 2 do
  local key = 'jobs:result:' .. members[i]
  local size = call('STRLEN', key)
  if size > bytes and i > 1 then
    result[1], result[2] = members[i - 1], 1
    break
  end
  bytes = bytes - size
  if size > 0 then result[#result + 1] = call('GET', key) end
end
return result
