#!lua flags=allow-oom
-- Limits a queue, or removes its limit. Jobs that run now count at once.
--
-- ARGV     queue, max running, max starts, per ms: 0 for unlimited
-- Result   1
-- O(N) for N leases of all workers

local call = redis.call
local queue, running, starts, per = unpack(ARGV)
-- Read before anything is written: a key may have the wrong type.
local leases = {}
for _, worker in ipairs(running == '0' and {} or call('ZRANGE', 'jobs:workers', 0, -1)) do
  for _, token in ipairs(call('HKEYS', 'jobs:leases:' .. worker)) do
    local name = string.match(token, ':(.*)$') or ''
    if (groupIn(name) or name) == queue then leases[#leases + 1] = { token, worker } end
  end
end
local isGrouped = string.sub(call('HGET', 'jobs:limits', queue) or '', -1) == 'g'
if running == '0' and starts == '0' then
  call('HDEL', 'jobs:limits', queue)
else
  call('HSET', 'jobs:limits', queue, running .. ' ' .. starts .. ' ' .. per)
end
if isGrouped then markGrouped(queue) end
call('DEL', 'jobs:running:' .. queue)
if starts == '0' then call('DEL', 'jobs:starts:' .. queue) else call('PEXPIRE', 'jobs:starts:' .. queue, per) end
for _, lease in ipairs(leases) do call('HSET', 'jobs:running:' .. queue, unpack(lease)) end
return 1
