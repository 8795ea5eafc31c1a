#!lua flags=allow-oom
-- Removes a worker, and returns its leases to the front of their queues. A rescue ends the cancelled jobs.
--
-- KEYS[1]  jobs:leases:WORKER
-- ARGV     worker ID
-- Result   how many leases were returned
-- O(N log N) for N leases

local call = redis.call
local worker = ARGV[1]
-- Fail on a key of the wrong type before anything is written.
checkCancelled(KEYS[1])
local tokens = call('HKEYS', KEYS[1])
for _, token in ipairs(tokens) do checkQueue(placeIn(token)) end
call('ZCARD', 'jobs:workers')
call('SCARD', 'processes')
-- Youngest first, so that the oldest ends at the very front: the right end.
table.sort(tokens)
for i = #tokens, 1, -1 do
  returnLease(KEYS[1], tokens[i], call('HGET', KEYS[1], tokens[i]))
end
call('ZREM', 'jobs:workers', worker)
call('SREM', 'processes', worker)
call('UNLINK', KEYS[1], 'jobs:worker:' .. worker, worker, worker .. ':work', worker .. ':workers',
  worker .. '-signals', 'jobs:commands:' .. worker, 'jobs:cancelled:' .. worker)
return #tokens
