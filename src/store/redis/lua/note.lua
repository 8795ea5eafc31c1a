#!lua flags=allow-oom
-- Notes the suspects that a worker runs, or how it ended if the store still has it.
--
-- ARGV     offset of the clock in ms, worker ID, JSON array of the tokens of the suspects' leases ("" to note none),
--          1 if no other job has started since the last of them, else 0, how the worker ended ("" to note nothing)
-- O(log N) for N workers

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local worker = 'jobs:worker:' .. ARGV[2]
-- Fail on a key of the wrong type before anything is written.
call('HLEN', worker)
if ARGV[3] ~= '' then
  -- The rescuer must find a worker that has no heartbeat yet, and its suspects.
  call('ZADD', 'jobs:workers', 'NX', now, ARGV[2])
  call('HSET', worker, 'suspects', ARGV[3], 'alone', ARGV[4])
end
if ARGV[5] ~= '' and call('ZSCORE', 'jobs:workers', ARGV[2]) then call('HSET', worker, 'ended', ARGV[5]) end
return redis.status_reply('OK')
