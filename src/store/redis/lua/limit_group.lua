#!lua flags=allow-oom
-- Limits a group of a queue, or each group without a separate limit. Jobs that run now count at once.
--
-- ARGV     offset of the clock in ms, queue, group ("" for each), most running, most starts, per ms, weight: 0 for none;
--          ms until the limit ends (0: until it is changed)
-- Result   1
-- O(N + M log M) for N leases of all workers and M groups at their limit

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local queue, group, running, starts, per, weight, ttl = unpack(ARGV, 2)
local key, held = 'jobs:groups:limits:' .. queue, 'jobs:groups:held:' .. queue

if running == '0' and starts == '0' and weight == '0' then
  call('HDEL', key, group)
else
  local till = ttl == '0' and '0' or string.format('%.0f', now + ttl)
  call('HSET', key, group, table.concat({ running, starts, per, weight, till }, ' '))
  markGrouped(queue)
end

-- Leases are counted by group only while the queue has limits for groups.
local isLimited = call('EXISTS', key) == 1
for _, owner in ipairs(call('ZRANGE', 'jobs:owners', 0, -1)) do
  for _, token in ipairs(call('HKEYS', 'jobs:leases:' .. owner)) do
    local name = string.match(token, ':(.*)$')
    if groupIn(name) == queue then
      if isLimited then
        call('HSET', 'jobs:running:' .. name, token, owner)
      else
        call('DEL', 'jobs:running:' .. name)
      end
    end
  end
end

-- Held groups may have room now. Of very many, take.lua finds the rest over time.
local groups = group ~= '' and { group } or call('ZRANGE', held, 0, 9999)
for _, one in ipairs(groups) do
  wakeGroup(queue .. '|' .. one)
end
if not isLimited then endTurns(queue) end
return 1
