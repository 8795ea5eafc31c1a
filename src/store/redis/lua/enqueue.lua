#!lua
-- Stores a batch of jobs, once: in their queues or in `schedule`, with their unique locks.
--
-- KEYS[1]  jobs:pusher:CLIENT: the number of that client's last batch, a space, its result as MessagePack
-- ARGV     offset of the clock in ms, wire (7 or 8), number of this batch, for how many ms to remember it,
--          number of locks, per lock: place of its job in the batch (from 1), key, jid, time to live in ms;
--          then groups:
--            "now", queue, count, per job: payload without its closing brace
--            "raw", queue, count, per job: what is no JSON object, to be stored as it is
--            "later", count, per job: "at" or "in", ms, queue, payload
-- Result   per job refused because of its lock: place, jid of the job that has it
-- O(N + L log M) for N jobs, L of them for later, M members of `schedule`

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local enqueuedAt = ',"enqueued_at":' .. (ARGV[2] == '8' and string.format('%d', now) or string.format('%.3f', now / 1000)) .. '}'
local refused = {}
local result = {}

local locks = tonumber(ARGV[5])
local first = 6 + 4 * locks

-- A key of the wrong type must stop us before anything is written.
do
  local i = first
  while i <= #ARGV do
    if ARGV[i] ~= 'later' then
      call('LLEN', 'queue:' .. ARGV[i + 1])
      i = i + 3 + ARGV[i + 2]
    else
      call('ZCARD', 'schedule')
      for k = i + 2, i + 1 + 4 * ARGV[i + 1], 4 do call('LLEN', 'queue:' .. ARGV[k + 2]) end
      i = i + 2 + 4 * ARGV[i + 1]
    end
  end
end

-- Sent again because the first answer was lost: all of it is stored already. Which jobs were refused then is remembered,
-- as the locks may be free by now.
local number, answer = string.match(call('GET', KEYS[1]) or '', '^(%d+) (.*)$')
if number and tonumber(number) >= tonumber(ARGV[3]) then return cmsgpack.unpack(answer) end

local locked = {}
for from = 6, first - 1, 4000 do
  local keys = {}
  for i = from, math.min(from + 3999, first - 1), 4 do keys[#keys + 1] = 'jobs:unique:' .. ARGV[i + 1] end
  for i, text in ipairs(call('MGET', unpack(keys))) do locked[keys[i]] = text end
end
for i = 6, first - 1, 4 do
  local place, key, jid, ttl = tonumber(ARGV[i]), 'jobs:unique:' .. ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3])
  local till, holder = string.match(locked[key] or '', '^(%d+) (.*)$')
  if till and tonumber(till) > now and holder ~= jid then
    refused[place] = true
    result[#result + 1] = place
    result[#result + 1] = holder
  else
    -- The stated end counts; Redis only sweeps up, later.
    locked[key] = string.format('%d', now + ttl) .. ' ' .. jid
    call('SET', key, locked[key], 'PX', ttl + 60000)
    call('SET', 'jobs:unique-of:' .. jid, ARGV[i + 1], 'PX', ttl + 60000)
  end
end
call('SET', KEYS[1], ARGV[3] .. ' ' .. cmsgpack.pack(result), 'PX', ARGV[4])

local place = 0
local i = first
-- When the earliest member of `schedule` was due before, and when it is now.
local head, earliest
while i <= #ARGV do
  if ARGV[i] ~= 'later' then
    local queue, last, ending = ARGV[i + 1], i + 2 + ARGV[i + 2], ARGV[i] == 'now' and enqueuedAt or ''
    call('SADD', 'queues', queue)
    i = i + 3
    while i <= last do
      -- Lua takes only so many arguments at once.
      local batch = {}
      for k = i, math.min(i + 999, last) do
        place = place + 1
        if not refused[place] then batch[#batch + 1] = ARGV[k] .. ending end
      end
      if #batch > 0 then call('LPUSH', 'queue:' .. queue, unpack(batch)) end
      i = math.min(i + 1000, last + 1)
    end
  else
    local last = i + 1 + 4 * ARGV[i + 1]
    for k = i + 2, last, 4 do
      place = place + 1
      if not refused[place] then
        local at, queue, payload = tonumber(ARGV[k + 1]), ARGV[k + 2], ARGV[k + 3]
        if ARGV[k] == 'in' then at = now + at end
        if at <= now then
          call('SADD', 'queues', queue)
          call('LPUSH', 'queue:' .. queue, string.sub(payload, -1) == '}' and string.sub(payload, 1, -2) .. enqueuedAt or payload)
        else
          head = head or (call('ZRANGE', 'schedule', 0, 0, 'WITHSCORES')[2] or math.huge) * 1000
          if at < (earliest or head) then earliest = at end
          add('schedule', at, payload)
        end
      end
    end
    i = last + 1
  end
end
-- It fails where the user may not publish; pollers then see it a second later.
if earliest then redis.pcall('PUBLISH', 'jobs:wake', 'due') end
return result
