-- Whether each of the names is paused now: 0 not at all, -1 until it is resumed, else for how many ms.
local function pausedOf(now, names)
  local lasting = redis.call('SMISMEMBER', 'paused', unpack(names))
  local ends = redis.call('ZMSCORE', 'jobs:paused-until', unpack(names))
  local paused = {}
  for i in ipairs(names) do
    local left = ends[i] and tonumber(ends[i]) - now or 0
    paused[i] = lasting[i] == 1 and -1 or math.max(0, left)
  end
  return paused
end
