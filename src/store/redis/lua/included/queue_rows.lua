-- Included: the rows of queues. A row has: name; size (-1: its key has another type); oldest payload (false: the queue is
-- empty, or the payload is huge and has no time at its ends; "": the payload is large, and the caller must read it); paused
-- (0 no, -1 until it is resumed, else the remaining ms); number of held groups; 1 if limits or pauses of its groups are stored,
-- else 0. With a limit also: the limit, ms until a job may be taken (-1: when one ends), running, started.

-- Reduces a large payload to its enqueue time, its last field unless another program wrote it. In a payload of more than 1 MiB
-- only the ends are searched. A nested field may be taken for it there, but reading all of it each time would block Redis.
local function headOf(key)
  local head = redis.call('LINDEX', key, -1)
  if not head or #head <= 2048 then return head end
  local time = string.match(string.sub(head, -64), ',"enqueued_at":([%d.]+)}$')
  if not time and #head > 1048576 then
    time = string.match(string.sub(head, -4096), '.*"enqueued_at":([%d.]+)')
      or string.match(string.sub(head, 1, 4096), '"enqueued_at":([%d.]+)')
    if not time then return false end
  end
  return time and '{"enqueued_at":' .. time .. '}' or ''
end

local function rowsOf(now, names)
  if #names == 0 then return {} end
  local paused = pausedOf(now, names)
  local limits = redis.call('HMGET', 'jobs:limits', unpack(names))
  local rows = {}
  for i, name in ipairs(names) do
    local key = 'queue:' .. name
    -- A key of another type, which another program uses, must not hide the other queues.
    local size = redis.pcall('LLEN', key)
    local isList = type(size) == 'number'
    local held, isSet = 0, 0
    local head = isList and headOf(key)
    if isList and limits[i] and string.sub(limits[i], -2) == ' g' then
      size = size + (redis.call('HGET', 'jobs:groups:state:' .. name, 'size') or 0)
      -- If all jobs are in groups, the oldest job of the group whose turn is next.
      local next = not head and redis.call('ZRANGE', 'jobs:groups:ready:' .. name, 0, 0)[1]
      if next then head = headOf(key .. '|' .. next) end
    end
    if limits[i] and string.sub(limits[i], -2) == ' g' then
      held = redis.call('ZCARD', 'jobs:groups:held:' .. name)
      isSet = redis.call('EXISTS', 'jobs:groups:limits:' .. name, 'jobs:groups:paused:' .. name) > 0 and 1 or 0
    end
    local row = { name, isList and size or -1, head, paused[i], held, isSet }
    local limit = limitIn(limits[i])
    if limit then
      local fine, _, opens, running, started = pcall(roomIn, name, limit, now)
      if fine then row[7], row[8], row[9], row[10] = limits[i], opens, running, started end
    end
    rows[i] = row
  end
  return rows
end
