#!lua
-- Sends a command to an online worker: to a worker of this program through its list of commands, to a worker of Sidekiq through
-- its list of signals.
--
-- ARGV     offset of the clock in ms, worker ID, command (JSON), Sidekiq's signal with the same meaning ("" for none)
-- Result   1, or 0 if no such worker is alive, or it doesn't support the command
-- O(log N) for N workers

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local worker = ARGV[2]

local key, value
local deadline = call('ZSCORE', 'jobs:workers', worker)
if deadline then
  if tonumber(deadline) <= now then return 0 end
  key, value = 'jobs:commands:' .. worker, ARGV[3]
elseif ARGV[4] ~= '' and call('EXISTS', worker) == 1 and call('SISMEMBER', 'processes', worker) == 1 then
  key, value = worker .. '-signals', ARGV[4]
else
  return 0
end
call('LPUSH', key, value)
call('EXPIRE', key, 60)
return 1
