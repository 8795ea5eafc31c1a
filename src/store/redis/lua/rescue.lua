#!lua flags=allow-oom
-- Returns leases of offline workers to the front of their queues. Removes the workers without leases. A worker whose
-- heartbeats have resumed keeps its leases.
--
-- ARGV     offset of the clock in ms, ID of the worker that rescues,
--          then per worker: worker ID, its suspects that had a lease when it was found offline (JSON array of tokens),
--            number of leases, per lease, youngest first: token, payload ("" for a doomed one, which stays)
-- Result   how many were returned, then the IDs of the workers that were offline
-- O(N) for N leases

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
-- Fail on a key of the wrong type before anything is written.
call('SCARD', 'processes')
do
  local i = 3
  while i <= #ARGV do
    checkCancelled('jobs:leases:' .. ARGV[i])
    i = i + 3 + 2 * ARGV[i + 2]
  end
end
local isOffline = offlineFor(ARGV[2], now)
local rescued = 0
local offline = {}

local i = 3
while i <= #ARGV do
  local worker, first, last = ARGV[i], i + 3, i + 2 + 2 * ARGV[i + 2]
  local key = 'jobs:leases:' .. worker
  local deadline = call('ZSCORE', 'jobs:workers', worker)
  if deadline and tonumber(deadline) <= now and isOffline(worker, tonumber(deadline)) then
    local isRescued = false
    for k = first, last, 2 do
      local token, payload = ARGV[k], ARGV[k + 1]
      if call('HEXISTS', key, token) == 1 then
        isRescued = true
        if payload ~= '' then
          -- A lease whose queue can't be written stays, and the others return.
          local stored = apart(returnLease, key, token, exactOf(key, token, payload) or payload)
          if stored then
            -- A suspect's payload has changed.
            apart(noteReplaceable, 'queue:' .. placeIn(token), stored)
            rescued = rescued + 1
          end
        end
      end
    end
    -- If the worker is alive after all, the mark makes settle.lua check each of its tokens.
    if isRescued then call('SET', 'jobs:rescued:' .. worker, '1', 'EX', 604800) end
    if call('HLEN', key) == 0 then
      call('ZREM', 'jobs:workers', worker)
      call('SREM', 'processes', worker)
      call('UNLINK', 'jobs:worker:' .. worker, worker, worker .. ':work', worker .. ':workers', worker .. '-signals',
        'jobs:commands:' .. worker, 'jobs:cancelled:' .. worker)
    else
      call('HSET', 'jobs:worker:' .. worker, 'suspects', ARGV[i + 1], 'judged', '1')
    end
    offline[#offline + 1] = worker
  end
  i = last + 1
end
return { rescued, unpack(offline) }
