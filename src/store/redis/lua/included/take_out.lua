-- Included: takes entries out of queues, each at its position, counted from the front.
--
-- Redis removes an entry of a list only by its value, and compares every entry between it and one end: 60 ns each. So
-- `takeOut` first overwrites the entries at their positions with a mark, which jumps from node to node. Then `sweep` removes
-- all marks of a queue in one walk from the nearer end.
local NEARBY = 1000
local MAX_COMPARED_ENTRIES, MAX_COMPARED_BYTES = 10000, 2097152
local LONG_QUEUE = 100000
-- Queues with marked entries, by their keys.
local marked = {}

-- Returns the position of an entry up to NEARBY places from its last position: workers have taken jobs since, or released
-- some. Returns nil if it isn't there, or if the script has reached its limit of comparisons.
local function positionNear(queue, key, wanted, payload)
  for _, direction in ipairs({ -1, 1 }) do
    local far, step = 0, 8
    while far < NEARBY and queue.entries < MAX_COMPARED_ENTRIES and queue.bytes < MAX_COMPARED_BYTES do
      local from, to = wanted + far + 1, wanted + far + step
      if direction < 0 then from, to = wanted - far - step, wanted - far - 1 end
      from, to = math.max(0, from), math.min(to, queue.size - 1)
      if from > to then break end
      for i, one in ipairs(redis.call('LRANGE', key, -to - 1, -from - 1)) do
        if one == payload then return to - i + 1 end
        queue.entries, queue.bytes = queue.entries + 1, queue.bytes + #one
      end
      far, step = far + step, 2 * step
    end
  end
  return nil
end

-- Marks an entry for removal. Returns false if it isn't near its position, or if a script that already walks through one half
-- of a long queue would have to walk through the other.
local function takeOut(key, position, payload, mark)
  local queue = marked[key]
  if not queue then
    queue = { size = redis.call('LLEN', key), shift = 0, entries = 0, bytes = 0, front = 0, back = 0 }
    marked[key] = queue
  end
  -- The other entries of this script have moved as far as the one before.
  local at = math.max(0, position + queue.shift)
  if redis.call('LINDEX', key, -at - 1) ~= payload then
    at = positionNear(queue, key, at, payload)
    if not at then return false end
    queue.shift = at - position
  end
  local half = 2 * at < queue.size and 'front' or 'back'
  if queue.size > LONG_QUEUE and queue[half == 'front' and 'back' or 'front'] > 0 then return false end
  redis.call('LSET', key, -at - 1, mark)
  queue[half] = queue[half] + 1
  return true
end

-- Removes all marks.
local function sweep(mark)
  for key, queue in pairs(marked) do
    if queue.front > 0 then redis.call('LREM', key, -queue.front, mark) end
    if queue.back > 0 then redis.call('LREM', key, queue.back, mark) end
    noteRemoval(string.sub(key, 7), queue.front + queue.back)
  end
end
