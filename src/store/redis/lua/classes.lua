--- script declareClasses
-- Stores the options of classes, and deletes those of classes that no worker has declared for a while.
--
-- KEYS[1]  jobs:classes
-- ARGV     offset of the clock in ms, ms after which to delete, then per class: name, options
-- O(N) for N classes

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]

for i = 3, #ARGV, 2 do
  call('HSET', KEYS[1], ARGV[i], '{"declared_at":' .. string.format('%.0f', now) .. ',"options":' .. ARGV[i + 1] .. '}')
end
local all = call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local at = tonumber(string.match(all[i + 1], '^{"declared_at":(%d+),'))
  if at and now - at > tonumber(ARGV[2]) then call('HDEL', KEYS[1], all[i]) end
end
