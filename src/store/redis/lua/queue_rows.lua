-- Included: what there is to tell of queues. Returns for each: name, size (-1: its key is no list), oldest payload (false:
-- none; "": it is large and does not end in its time), paused: 0 not, -1 until it is resumed, else for how many ms; and where
-- it is limited: the limit, in how many ms a job may be taken (-1: when one ends), running, started.

-- Of a large payload only its time is wanted, which is its last field unless another program wrote it.
local function headOf(key)
  local head = redis.call('LINDEX', key, -1)
  if not head or #head <= 2048 then return head end
  local time = string.match(string.sub(head, -64), '(,"enqueued_at":[%d.]+})$')
  return time and '{' .. string.sub(time, 2) or ''
end

local function rowsOf(now, names)
  if #names == 0 then return {} end
  local paused = pausedOf(now, names)
  local limits = redis.call('HMGET', 'jobs:limits', unpack(names))
  local rows = {}
  for i, name in ipairs(names) do
    local key = 'queue:' .. name
    -- A key that another program uses, of another type, must not hide all other queues.
    local size = redis.pcall('LLEN', key)
    local isList = type(size) == 'number'
    local row = { name, isList and size or -1, isList and headOf(key), paused[i] }
    local limit = limitIn(limits[i])
    if limit then
      local fine, _, opens, running, started = pcall(roomIn, name, limit, now)
      if fine then row[5], row[6], row[7], row[8] = limits[i], opens, running, started end
    end
    rows[i] = row
  end
  return rows
end
