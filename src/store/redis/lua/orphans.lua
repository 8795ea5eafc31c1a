#!lua flags=no-writes
-- Reads the leases of processes whose heartbeat has lapsed, youngest first: as many as the limits of number and bytes
-- allow, and always one. While the server itself has not been up for as
-- long as a heartbeat counts, nobody's has: they could not say that they live.
--
-- ARGV     offset of the clock in ms, limit, how long a heartbeat counts in ms, most bytes
-- Result   per process: identity, then token and payload of each lease; a process without leases too
-- O(N log N) for N leases of these processes

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local left = tonumber(ARGV[2])
local bytes = tonumber(ARGV[4])
local count = 0
local result = {}

-- Who may not ask (an ACL) goes without.
local info = redis.pcall('INFO', 'server')
local uptime = type(info) == 'string' and string.match(info, 'uptime_in_seconds:(%d+)')
if uptime and uptime * 1000 + ARGV[1] < tonumber(ARGV[3]) then return {} end

for _, owner in ipairs(call('ZRANGE', 'jobs:owners', '-inf', now, 'BYSCORE', 'LIMIT', 0, 1000)) do
  local key = 'jobs:leases:' .. owner
  local tokens = call('HKEYS', key)
  table.sort(tokens)
  local leases = { owner }
  for i = #tokens, 1, -1 do
    local size = call('HSTRLEN', key, tokens[i])
    if count > 0 and size > bytes then left = 0 end
    if left == 0 then break end
    leases[#leases + 1] = tokens[i]
    leases[#leases + 1] = call('HGET', key, tokens[i])
    left = left - 1
    bytes = bytes - size
    count = count + 1
  end
  result[#result + 1] = leases
  if left == 0 then break end
end
return result
