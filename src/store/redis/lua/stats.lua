#!lua flags=no-writes
-- Reads the counts of everything.
--
-- ARGV     offset of the clock in ms
-- Result   now in ms, processed, failed, scheduled, retry, dead, leased, live processes;
--          per queue: name, size (-1: its key is no list), oldest payload (false: none; "": it is large and does not end in
--          its time), paused: 0 not, -1 until it is resumed, else for how many ms,
--          and where it is limited: the limit, in how many ms a job may be taken (-1: when one ends), running, started
-- O(Q + P) for Q queues and P processes, and the jobs that count against limits

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]

local leased, live = 0, 0
local ours = {}
local owners = call('ZRANGE', 'jobs:owners', 0, -1, 'WITHSCORES')
for i = 1, #owners, 2 do
  ours[owners[i]] = true
  leased = leased + call('HLEN', 'jobs:leases:' .. owners[i])
  if tonumber(owners[i + 1]) > now then live = live + 1 end
end
for _, identity in ipairs(call('SMEMBERS', 'processes')) do
  if not ours[identity] and call('EXISTS', identity) == 1 then live = live + 1 end
end

local counts = {
  now,
  tonumber(call('GET', 'stat:processed') or 0),
  tonumber(call('GET', 'stat:failed') or 0),
  call('ZCARD', 'schedule'),
  call('ZCARD', 'retry'),
  call('ZCARD', 'dead'),
  leased,
  live,
}
local queues = {}
local names = call('SUNION', 'queues', 'paused')
local known = {}
for _, name in ipairs(names) do known[name] = true end
local limits = {}
local flat = call('HGETALL', 'jobs:limits')
for i = 1, #flat, 2 do
  limits[flat[i]] = flat[i + 1]
  if not known[flat[i]] then names[#names + 1] = flat[i] end
  known[flat[i]] = true
end
local paused = {}
local ends = call('ZRANGEBYSCORE', 'jobs:paused-until', '(' .. now, '+inf', 'WITHSCORES')
for i = 1, #ends, 2 do
  if not known[ends[i]] then names[#names + 1] = ends[i] end
  paused[ends[i]] = tonumber(ends[i + 1]) - now
end
for _, name in ipairs(call('SMEMBERS', 'paused')) do paused[name] = -1 end
-- Of a large payload only its time is wanted, which is its last field unless another program wrote it.
local function headOf(key)
  local head = call('LINDEX', key, -1)
  if not head or #head <= 2048 then return head end
  local time = string.match(string.sub(head, -64), '(,"enqueued_at":[%d.]+})$')
  return time and '{' .. string.sub(time, 2) or ''
end

for _, name in ipairs(names) do
  local key = 'queue:' .. name
  -- A key that another program uses, of another type, must not hide all other queues.
  local size = redis.pcall('LLEN', key)
  local isList = type(size) == 'number'
  local row = { name, isList and size or -1, isList and headOf(key), paused[name] or 0 }
  local limit = limitIn(limits[name])
  if limit then
    local fine, _, opens, running, started = pcall(roomIn, name, limit, now)
    if fine then row[5], row[6], row[7], row[8] = limits[name], opens, running, started end
  end
  queues[#queues + 1] = row
end
return { counts, queues }
