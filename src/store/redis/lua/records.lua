#!lua flags=no-writes
-- Reads records of jobs that have ended, the latest first: as many as the limits of number and bytes allow, and always one.
--
-- ARGV     the number before which to begin ("+inf", or "(" and a number), limit, most bytes
-- Result   the number of the last record that was looked up, "" if there are no more; 1 if the next one exceeds the bytes or
--          else 0; then the records, without those that have expired
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
