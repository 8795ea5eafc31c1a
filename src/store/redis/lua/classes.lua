--- script declareClasses(classes; now, keepMs, declared[name, options])
-- Stores the options of classes, and deletes those of classes that no worker has declared for a while.
--
-- classes  jobs:classes
-- keepMs   after which to delete a declaration
-- O(N) for N classes

local call = redis.call

for _, class in ipairs(declared) do
  call('HSET', classes, class.name, '{"declared_at":' .. string.format('%.0f', now) .. ',"options":' .. class.options .. '}')
end
local all = call('HGETALL', classes)
for i = 1, #all, 2 do
  local at = tonumber(string.match(all[i + 1], '^{"declared_at":(%d+),'))
  if at and now - at > tonumber(keepMs) then call('HDEL', classes, all[i]) end
end
