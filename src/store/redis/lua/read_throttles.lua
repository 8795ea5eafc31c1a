#!lua flags=no-writes
-- Reads some throttles, for a migration. A throttle that isn't changed meanwhile is read at least once.
--
-- KEYS     throttles, of which this reads as many as have 1,000 pushes together, but at least one
-- ARGV     offset of the clock in ms
-- Result   how many keys it has read, then per throttle: key, its time in ms, number of pushes, per push, the latest first: ms
--          since then, jid
-- O(N) for N pushes

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local PREFIX = 'jobs:throttle:'
local MAX_PUSHES = 1000

local result = { 0 }
local pushes = 0
for i, key in ipairs(KEYS) do
  pushes = pushes + call('LLEN', key)
  if i > 1 and pushes > MAX_PUSHES then break end
  result[1] = i
  local lines = call('LRANGE', key, 0, -1)
  local left = call('PTTL', key)
  if #lines > 0 and left > 0 then
    -- The key expires when the latest push leaves the time.
    local latest = math.min(now, tonumber(string.match(lines[1], '^%d+')))
    for _, value in ipairs({ string.sub(key, #PREFIX + 1), left + now - latest, #lines }) do result[#result + 1] = value end
    for _, line in ipairs(lines) do
      local at, jid = string.match(line, '^(%d+) (.*)$')
      result[#result + 1] = math.max(0, now - at)
      result[#result + 1] = jid
    end
  end
end
return result
