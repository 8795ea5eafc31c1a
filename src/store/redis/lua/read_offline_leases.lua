#!lua flags=no-writes
-- Reads the leases of offline workers, youngest first: up to the limits of number and bytes, but at least one.
--
-- ARGV     offset of the clock in ms, ID of the worker that rescues, limit, max bytes
-- Result   1 if workers with leases are past their timeout but may be alive, else 0;
--          1 if offline workers have more leases than this result, else 0;
--          then per offline worker, also without leases: worker ID, how it ended (""), 1 if no job started since its last
--            suspect, else 0, number of its suspects that have a lease, their tokens,
--            then per lease: token, payload, "1" if its job was cancelled, else ""
-- O(N log N) for N leases of these workers

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local isOffline = offlineFor(ARGV[2], now)
local left = tonumber(ARGV[3])
local bytes = tonumber(ARGV[4])
local count = 0
local waits, more = 0, 0
local result = {}

-- Returns how a worker ended, whether only its suspects ran, and their tokens: of those that still have a lease, or, once a
-- rescue has begun, of those that had one when it began.
local function lastMoments(worker)
  local known = call('HMGET', 'jobs:worker:' .. worker, 'suspects', 'alone', 'judged', 'ended')
  local suspects = {}
  for _, token in ipairs(known[1] and cjson.decode(known[1]) or {}) do
    if known[3] or call('HEXISTS', 'jobs:leases:' .. worker, token) == 1 then suspects[#suspects + 1] = token end
  end
  return known[4] or '', tonumber(known[2] or 0), suspects
end

local workers = call('ZRANGE', 'jobs:workers', '-inf', now, 'BYSCORE', 'LIMIT', 0, 1000, 'WITHSCORES')
for w = 1, #workers, 2 do
  local worker = workers[w]
  local key = 'jobs:leases:' .. worker
  if not isOffline(worker, tonumber(workers[w + 1])) then
    if call('EXISTS', key) == 1 then waits = 1 end
  elseif left == 0 then
    more = 1
  else
    local tokens = call('HKEYS', key)
    table.sort(tokens)
    local ended, alone, suspects = lastMoments(worker)
    local leases = { worker, ended, alone, #suspects }
    for _, token in ipairs(suspects) do leases[#leases + 1] = token end
    for i = #tokens, 1, -1 do
      local size = call('HSTRLEN', key, tokens[i])
      if count > 0 and size > bytes then left = 0 end
      if left == 0 then
        more = 1
        break
      end
      leases[#leases + 1] = tokens[i]
      leases[#leases + 1] = call('HGET', key, tokens[i])
      local isCancelled = worker == 'cancelled' or call('SISMEMBER', 'jobs:cancelled:' .. worker, tokens[i]) == 1
      leases[#leases + 1] = isCancelled and '1' or ''
      left = left - 1
      bytes = bytes - size
      count = count + 1
    end
    result[#result + 1] = leases
  end
end
return { waits, more, unpack(result) }
