--- script claimScratch(; verb, bench, queue, ttl, cursor) allow-oom
-- Claims an empty database for a bench, renews the claim, and clears the database.
--
-- jobs:scratch is the claim: "TILL BENCH QUEUE", TILL in ms by the server's clock. The key doesn't expire, so that the keys of
-- a killed bench can be distinguished from those of other programs.
--
-- verb     "take", "clear", "keep" or "leave"
-- queue    the queue that the bench uses
-- ttl      in ms
-- cursor   of "clear": "0" first
-- Result   take: 1; 0 if the database isn't available; -1 if the bench must clear it first and take it again;
--          clear: the cursor for the next step, "0" at the end or without a claim;
--          keep: 1, or 0 without a claim;
--          leave: false without a claim; else the number of keys of other programs, and the names of some
-- O(1); clear: O(N) for N keys of one step of SCAN

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local claim = call('TYPE', 'jobs:scratch').ok == 'string' and call('GET', 'jobs:scratch') or ''
local till, holder, used = string.match(claim, '^(%d+) (%S+) (%S+)$')

local function hold(name)
  call('SET', 'jobs:scratch', string.format('%.0f %s %s', now + ttl, bench, name))
  return 1
end

-- Keys that a store has and a bench doesn't: another program has begun to use this database.
local SIGNS = {
  'queues', 'schedule', 'retry', 'dead', 'paused', 'jobs:paused-until', 'jobs:limits', 'jobs:cron:index', 'jobs:audit',
}
local NAMES = {
  '^jobs:', '^stat:processed$', '^stat:failed$', '^stat:processed:%d+%-%d+%-%d+$', '^stat:failed:%d+%-%d+%-%d+$',
  '^j|%d+|%d+:%d+$', '^h|.+%-%d+%-%d+:%d+$',
}

local function isOurs(key)
  if key == 'jobs:scratch' then return false end
  for _, name in ipairs(NAMES) do
    if string.find(key, name) then return true end
  end
  return false
end

-- Deletes a part of the bench's keys, and nothing else. Returns the next cursor.
local function clear()
  if cursor == '0' then
    redis.pcall('SREM', 'queues', used)
    call('UNLINK', 'queue:' .. used)
  end
  if call('EXISTS', unpack(SIGNS)) > 0 then return '0' end
  if cursor == '0' then
    local workers = redis.pcall('ZRANGE', 'jobs:workers', 0, 999)
    for _, worker in ipairs(workers) do
      redis.pcall('SREM', 'processes', worker)
      call('UNLINK', worker, worker .. ':work', worker .. ':workers', worker .. '-signals')
    end
  end
  local page = call('SCAN', cursor, 'COUNT', 500)
  for _, key in ipairs(page[2]) do
    if isOurs(key) then call('UNLINK', key) end
    -- Sidekiq 7 has the same histogram under a name that another program could use.
    local class, day, hour, minute = string.match(key, '^h|(.+)%-(%d+)%-(%d+):(%d+)$')
    if class then call('UNLINK', string.format('%s-%02d-%02d:%d', class, day, hour, minute)) end
  end
  return page[1]
end

if verb == 'take' then
  local size = call('DBSIZE')
  if size == 0 or size == 1 and holder == bench then return hold(queue) end
  if holder == bench then
    call('UNLINK', 'jobs:scratch')
    return 0
  end
  if not till or tonumber(till) > now then return 0 end
  hold(used)
  return -1
end
if verb == 'clear' then return holder == bench and clear() or '0' end
if holder ~= bench then return verb == 'keep' and 0 end
if verb == 'keep' then return hold(queue) end
call('UNLINK', 'jobs:scratch')
local left = { call('DBSIZE') }
cursor = '0'
repeat
  local page = call('SCAN', cursor)
  cursor = page[1]
  for _, key in ipairs(page[2]) do left[#left + 1] = key end
until cursor == '0' or #left > 10
return left
