--- part declared
-- The declarations of each worker, which end with it: as src/store/sql/declarations.ts keeps them. A field of jobs:declared is a worker and a
-- name with "\1" between; its value is since when, the position and JSON.
local function declarationIn(value)
  local since, position, body = string.match(value, '^(%d+) (%d+) (.*)$')
  return tonumber(since), tonumber(position), body
end

-- Stores a declaration. Returns whether it is another than before: unchanged, it counts since its first time.
local function declareAs(now, worker, name, position, body)
  local field = worker .. '\1' .. name
  local before = redis.call('HGET', 'jobs:declared', field)
  if before then
    local _, place, text = declarationIn(before)
    if text == body and place == position then return false end
  end
  redis.call('HSET', 'jobs:declared', field, string.format('%.0f %d %s', now, position, body))
  return true
end

-- Returns all declarations, the latest first: of each name, that one is in force.
local function declarations()
  local found = {}
  local all = redis.call('HGETALL', 'jobs:declared')
  for i = 1, #all, 2 do
    local worker, name = string.match(all[i], '^(.-)\1(.*)$')
    local since, position, body = declarationIn(all[i + 1])
    if worker and since then
      found[#found + 1] = { worker = worker, name = name, since = since, position = position, body = body }
    end
  end
  table.sort(found, function(a, b)
    if a.since ~= b.since then return a.since > b.since end
    if a.worker ~= b.worker then return a.worker > b.worker end
    return a.position < b.position
  end)
  return found
end

-- Puts the webhooks of all workers in force: of each name the latest declaration. Without a worker that has declared webhooks, those in
-- force stay.
local function mergeWebhooks(found)
  local known, texts, isDeclared = {}, {}, false
  for _, one in ipairs(found) do
    if one.name == 'webhooks' then isDeclared = true end
    if string.sub(one.name, 1, 8) == 'webhook ' and not known[one.name] then
      known[one.name] = true
      texts[#texts + 1] = one.body
    end
  end
  if isDeclared then redis.call('SET', 'jobs:webhooks', '[' .. table.concat(texts, ',') .. ']') end
end

local function classText(now, options)
  return '{"declared_at":' .. string.format('%.0f', now) .. ',"options":' .. options .. '}'
end

-- Removes the declarations of a worker that has ended, and puts those of others in force in their place.
local function withdraw(now, worker)
  local call = redis.call
  local gone, left = {}, {}
  for _, one in ipairs(declarations()) do
    if one.worker == worker then gone[#gone + 1] = one else left[#left + 1] = one end
  end
  local next = {}
  for i = #left, 1, -1 do next[left[i].name] = left[i] end
  local hasWebhooks = false
  for _, one in ipairs(gone) do
    call('HDEL', 'jobs:declared', worker .. '\1' .. one.name)
    if one.name == 'webhooks' then hasWebhooks = true end
    if string.sub(one.name, 1, 6) == 'class ' and next[one.name] then
      local name = string.sub(one.name, 7)
      local at = string.match(call('HGET', 'jobs:classes', name) or '', '^{"declared_at":(%d+),')
      call('HSET', 'jobs:classes', name, classText(at or now, next[one.name].body))
    end
  end
  if hasWebhooks then mergeWebhooks(left) end
end

--- script declareClasses(classes; now, keepMs, worker, declared[name, options]): declared
-- Stores the options of classes, and deletes those of classes that no worker has declared for a while.
--
-- classes  jobs:classes
-- keepMs   after which to delete a declaration
-- worker   the worker that declares them, "" for none
-- O(N) for N classes

local call = redis.call
-- Fail on a key of the wrong type before anything is written.
call('HLEN', classes)
call('HLEN', 'jobs:declared')

for _, class in ipairs(declared) do
  local isNew = worker == '' or declareAs(now, worker, 'class ' .. class.name, 0, class.options)
  local before = not isNew and call('HGET', classes, class.name)
  local options = before and string.match(before, '^{"declared_at":%d+,"options":(.*)}$') or class.options
  call('HSET', classes, class.name, classText(now, options))
end
local all = call('HGETALL', classes)
for i = 1, #all, 2 do
  local at = tonumber(string.match(all[i + 1], '^{"declared_at":(%d+),'))
  if at and now - at > tonumber(keepMs) then call('HDEL', classes, all[i]) end
end

--- script declareWebhooks(; now, worker, declared[name, subscription]): declared
-- Stores the subscriptions of a worker's webhooks, and puts those of all workers in force.
--
-- O(N) for N declarations

local call = redis.call

local names = {}
for _, one in ipairs(declared) do names['webhook ' .. one.name] = true end
for _, one in ipairs(declarations()) do
  if one.worker == worker and string.sub(one.name, 1, 8) == 'webhook ' and not names[one.name] then
    call('HDEL', 'jobs:declared', worker .. '\1' .. one.name)
  end
end
declareAs(now, worker, 'webhooks', 0, '')
for position, one in ipairs(declared) do
  declareAs(now, worker, 'webhook ' .. one.name, position, one.subscription)
end
mergeWebhooks(declarations())
