#!lua
-- Asks something of a live process: one of ours by our list, one of Sidekiq's by its signal list.
--
-- ARGV     offset of the clock in ms, identity, command (JSON), signal that means the same to Sidekiq ("" for none)
-- Result   1, or 0 when there is no such live process, or it cannot do that
-- O(log N) for N processes

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local identity = ARGV[2]

local key, value
local deadline = call('ZSCORE', 'jobs:owners', identity)
if deadline then
  if tonumber(deadline) <= now then return 0 end
  key, value = 'jobs:commands:' .. identity, ARGV[3]
elseif ARGV[4] ~= '' and call('EXISTS', identity) == 1 and call('SISMEMBER', 'processes', identity) == 1 then
  key, value = identity .. '-signals', ARGV[4]
else
  return 0
end
call('LPUSH', key, value)
call('EXPIRE', key, 60)
return 1
