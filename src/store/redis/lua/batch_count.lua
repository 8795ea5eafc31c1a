#!lua flags=no-writes
-- Counts the members of a batch in all places, at one moment, if the store has few jobs.
--
-- ARGV     id, max jobs and batches, max bytes of their payloads
-- Result   "large" if there are more; nothing for an unknown batch; else pending, dead, then its fields and values
-- O(N) for N jobs and batches

local call = redis.call
local id, left, bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local row = call('HGETALL', 'jobs:batch:' .. id)
if #row == 0 then return {} end

-- The places, each with its size and a function that reads `count` payloads from a position on.
local places = {}
local function add(size, read)
  if type(size) ~= 'number' or size == 0 then return end
  left = left - size
  places[#places + 1] = { size, read }
end
local function addList(name)
  local key = 'queue:' .. name
  add(redis.pcall('LLEN', key), function(from, count) return call('LRANGE', key, from, from + count - 1) end)
end
for _, set in ipairs({ 'schedule', 'retry', 'dead' }) do
  add(call('ZCARD', set), function(from, count) return call('ZRANGE', set, from, from + count - 1) end)
end
for _, worker in ipairs(call('ZRANGE', 'jobs:workers', 0, -1)) do
  local key = 'jobs:leases:' .. worker
  local size = call('HLEN', key)
  local tokens = size > 0 and size <= left and call('HKEYS', key) or {}
  add(size, function(from, count) return call('HMGET', key, unpack(tokens, from + 1, math.min(size, from + count))) end)
end
for _, queue in ipairs(call('SMEMBERS', 'queues')) do
  addList(queue)
  for _, state in ipairs({ 'ready', 'held' }) do
    local set = 'jobs:groups:' .. state .. ':' .. queue
    -- Each has a job.
    local groups = left > 0 and redis.pcall('ZRANGE', set, 0, left) or {}
    for _, group in ipairs(groups) do addList(queue .. '|' .. group) end
  end
end
left = left - call('ZCARD', 'jobs:batches') - call('ZCARD', 'jobs:flows')
if left < 0 then return 'large' end

local counts = { pending = 0, dead = 0 }
for _, place in ipairs(places) do
  local from, count = 0, 1
  while from < place[1] do
    for _, payload in ipairs(place[2](from, count)) do
      bytes = bytes - #payload
      if string.find(payload, id, 1, true) then
        local batch, counted = memberOf(payload)
        if batch == id then counts[counted] = counts[counted] + 1 end
      end
    end
    if bytes < 0 then return 'large' end
    from = from + count
    -- It grows, because the sizes are unknown.
    count = math.min(2 * count, 64)
  end
end
for _, list in ipairs({ 'jobs:batches', 'jobs:flows' }) do
  for _, other in ipairs(call('ZRANGE', list, 0, -1)) do
    local parent, counted = unpack(redis.pcall('HMGET', 'jobs:batch:' .. other, 'parent', 'counted'))
    if parent == id and counts[counted] then counts[counted] = counts[counted] + 1 end
  end
end
return { counts.pending, counts.dead, unpack(row) }
