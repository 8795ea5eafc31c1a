#!lua flags=allow-oom
-- Abandons open batches that were not closed in time, and removes finished ones after their retention.
--
-- ARGV     offset of the clock in ms, limit
-- Result   abandoned, removed, 1 if more are due
-- O(L log N) for L of N batches

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local limit = tonumber(ARGV[2])
local due = call('ZRANGE', 'jobs:batches:due', '-inf', now, 'BYSCORE', 'LIMIT', 0, limit + 1)
-- Fail on a key of the wrong type before anything is written.
call('ZCARD', 'jobs:batches')
call('ZCARD', 'jobs:flows')
local abandoned, removed = 0, 0
for i = 1, math.min(limit, #due) do
  local key = 'jobs:batch:' .. due[i]
  if isBatch(key) and call('HEXISTS', key, 'closed_as') == 0 then
    abandoned = abandoned + (apart(closeBatch, now, due[i], 'abandoned') or 0)
  else
    call('UNLINK', key)
    local flow = 'jobs:flow:' .. due[i]
    call('UNLINK', flow, flow .. ':nodes', flow .. ':roots')
    call('ZREM', 'jobs:batches', due[i])
    call('ZREM', 'jobs:flows', due[i])
    call('ZREM', 'jobs:batches:due', due[i])
    removed = removed + 1
  end
end
return { abandoned, removed, #due > limit and 1 or 0 }
