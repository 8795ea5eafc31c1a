-- Included: pauses of queues and groups.

-- Returns whether each of the names is paused now: 0 no, -1 until it is resumed, else the remaining ms.
local function pausedOf(now, names)
  local paused = {}
  -- Lua limits the number of arguments of a call.
  for from = 1, #names, 1000 do
    local to = math.min(from + 999, #names)
    local lasting = redis.call('SMISMEMBER', 'paused', unpack(names, from, to))
    local ends = redis.call('ZMSCORE', 'jobs:paused-until', unpack(names, from, to))
    for i, isLasting in ipairs(lasting) do
      local left = ends[i] and tonumber(ends[i]) - now or 0
      paused[from + i - 1] = isLasting == 1 and -1 or math.max(0, left)
    end
  end
  return paused
end

-- Returns whether a group is paused now: 0 no, -1 until it is resumed, else the remaining ms.
local function groupPausedFor(now, queue, group)
  local till = tonumber(redis.call('HGET', 'jobs:groups:paused:' .. queue, group))
  return not till and 0 or till == 0 and -1 or math.max(0, till - now)
end
