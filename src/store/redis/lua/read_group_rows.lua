#!lua flags=no-writes
-- Reads groups of a queue.
--
-- ARGV     offset of the clock in ms, queue, max bytes of the oldest jobs, groups ("" for the limit of each group)
-- Result   per group, for at least one, until the bytes are too many: size, weight as text, ms until its separate limit ends (0: it
--          doesn't), 1 if it has a separate limit, 2 if just a separate weight, else 0, paused (0 no, -1 until it is resumed, else the
--          remaining ms), max running, max starts, per ms (0 for none), ms until a job may be taken (-1: when one ends), running,
--          started, ms since its oldest job was enqueued, 1 if it is ready
-- O(N) for N jobs that count against their limits

local call = redis.call

local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local queue = ARGV[2]
local ready = 'jobs:groups:ready:' .. queue
local rows = {}
local bytes = tonumber(ARGV[3])
for i = 4, #ARGV do
  if bytes <= 0 then break end
  local name = queue .. '|' .. ARGV[i]
  local limit = groupLimitOf(queue, ARGV[i], now)
    or { running = 0, starts = 0, per = 0, weight = 1, till = 0, isOwn = false }
  local _, opens, running, started = groupRoomIn(name, limit, now)
  local key = name == queue .. '|' and 'queue:' .. queue or 'queue:' .. name
  local size = redis.pcall('LLEN', key)
  local oldest = type(size) == 'number' and call('LINDEX', key, -1)
  local at = oldest and enqueuedAt(oldest) or now
  if oldest then bytes = bytes - #oldest end
  rows[i - 3] = {
    type(size) == 'number' and size or 0, tostring(limit.weight), limit.till > 0 and limit.till - now or 0,
    limit.sharesLimit and 2 or limit.isOwn and 1 or 0,
    groupPausedFor(now, queue, ARGV[i]), limit.running, limit.starts, limit.per, opens, running, started,
    math.max(0, math.floor(now - at)), call('ZSCORE', ready, ARGV[i]) and 1 or 0,
  }
end
return rows
