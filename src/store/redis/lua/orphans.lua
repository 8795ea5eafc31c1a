#!lua flags=no-writes
-- Reads the leases of offline workers, youngest first: as many as the limits of number and bytes allow, and always one.
--
-- ARGV     offset of the clock in ms, the worker that rescues, limit, most bytes
-- Result   1 if workers with leases are past their timeout that may be alive, else 0;
--          then per offline worker: identity, then token and payload of each lease; a worker without leases too
-- O(N log N) for N leases of these workers

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local isOffline = offlineFor(ARGV[2], now)
local left = tonumber(ARGV[3])
local bytes = tonumber(ARGV[4])
local count = 0
local waits = 0
local result = {}

local owners = call('ZRANGE', 'jobs:owners', '-inf', now, 'BYSCORE', 'LIMIT', 0, 1000, 'WITHSCORES')
for o = 1, #owners, 2 do
  local owner = owners[o]
  local key = 'jobs:leases:' .. owner
  if not isOffline(owner, tonumber(owners[o + 1])) then
    if call('EXISTS', key) == 1 then waits = 1 end
  elseif left > 0 then
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
  end
end
return { waits, unpack(result) }
