#!lua
-- Stores a batch of jobs, once: in their queues or in `schedule`, with their unique locks.
--
-- KEYS[1]  jobs:pusher:CLIENT: the number of that client's last batch, a space, its result as MessagePack
-- ARGV     offset of the clock in ms, wire (7 or 8), number of this batch, ms to keep its result,
--          number of unique locks, number of once keys,
--          per lock, then per once key: place of its job in the batch (from 1), key, jid, TTL in ms;
--          then, if jobs are members of batches: "members", count, per member: place of its job, batch, the member that
--          adds it ("" for none);
--          then groups:
--            "now", queue, count, per job: payload without its closing brace
--            "raw", queue, count, per job: a payload that isn't a JSON object, to be stored unchanged
--            "later", count, per job: "at" or "in", ms, queue, payload
-- Result   per refused job: place, jid of the job that has its lock; or: minus the place, jid of the job that was stored
--          with its once key; or: place, a space and the refusal of its batch
-- O(N + L log M) for N jobs, L of them scheduled, M members of `schedule`

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local enqueuedAt = ',"enqueued_at":' .. (ARGV[2] == '8' and string.format('%d', now) or string.format('%.3f', now / 1000)) .. '}'
local refused = {}
local result = {}

local locks = tonumber(ARGV[5])
local onces = tonumber(ARGV[6])
local first = 7 + 4 * (locks + onces)
local members = ARGV[first] == 'members' and tonumber(ARGV[first + 1]) or 0
local groups = members > 0 and first + 2 + 3 * members or first

-- Fail on a key of the wrong type before anything is written.
do
  local i = groups
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

-- A batch sent again because its reply was lost is stored already. Return the refusals of then: the locks may be free by now.
local number, answer = string.match(call('GET', KEYS[1]) or '', '^(%d+) (.*)$')
if number and tonumber(number) >= tonumber(ARGV[3]) then return cmsgpack.unpack(answer) end

-- A unique lock and a once key hold "MS JID": when they expire, and the job. That time counts; Redis deletes the key later.
local function holderIn(line)
  local till, holder = string.match(line or '', '^(%d+) (.*)$')
  return till and tonumber(till) > now and holder
end
local function lineOf(jid, ttl) return string.format('%d', now + ttl) .. ' ' .. jid end
local function refuse(place, answer, jid)
  refused[place] = true
  result[#result + 1] = answer
  result[#result + 1] = jid
end

-- A member that its batch refuses takes no lock and uses no once key. If an earlier push with its once key has stored it, the
-- result says that instead.
if members > 0 then
  local closed = {}
  for i = first + 2, groups - 1, 3 do closed[tonumber(ARGV[i])] = refusalOf(ARGV[i + 1], ARGV[i + 2]) end
  if next(closed) then
    for i = 7 + 4 * locks, first - 1, 4 do
      local place = tonumber(ARGV[i])
      local holder = closed[place] and holderIn(call('GET', 'jobs:once:' .. ARGV[i + 1]))
      if holder then refuse(place, -place, holder) end
    end
    for place, why in pairs(closed) do
      if not refused[place] then refuse(place, place, ' ' .. why) end
    end
  end
end

local locked = {}
for from = 7, 6 + 4 * locks, 4000 do
  local keys = {}
  for i = from, math.min(from + 3999, 6 + 4 * locks), 4 do keys[#keys + 1] = 'jobs:unique:' .. ARGV[i + 1] end
  for i, text in ipairs(call('MGET', unpack(keys))) do locked[keys[i]] = text end
end

-- In the order of their jobs, as both lists are: a job that is refused because of its lock doesn't use its once key.
local o = 7 + 4 * locks
local function takeOnce(i)
  if refused[tonumber(ARGV[i])] then return end
  local place, key, jid, ttl = tonumber(ARGV[i]), 'jobs:once:' .. ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3])
  local line = lineOf(jid, ttl)
  local stored = call('SET', key, line, 'NX', 'GET', 'PX', ttl + 60000)
  if not stored then return end
  local holder = holderIn(stored)
  if holder then refuse(place, -place, holder) else call('SET', key, line, 'PX', ttl + 60000) end
end
for i = 7, 6 + 4 * locks, 4 do
  local place, key, jid, ttl = tonumber(ARGV[i]), 'jobs:unique:' .. ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3])
  while o < first and tonumber(ARGV[o]) < place do
    takeOnce(o)
    o = o + 4
  end
  local hasOnce = o < first and tonumber(ARGV[o]) == place
  local stored = hasOnce and holderIn(call('GET', 'jobs:once:' .. ARGV[o + 1]))
  local holder = holderIn(locked[key])
  if refused[place] then
    -- Refused by its batch.
  elseif stored then
    refuse(place, -place, stored)
  elseif holder and holder ~= jid then
    refuse(place, place, holder)
  else
    if hasOnce then takeOnce(o) end
    locked[key] = lineOf(jid, ttl)
    call('SET', key, locked[key], 'PX', ttl + 60000)
    call('SET', 'jobs:unique-of:' .. jid, ARGV[i + 1], 'PX', ttl + 60000)
  end
  if hasOnce then o = o + 4 end
end
for i = o, first - 1, 4 do takeOnce(i) end
for i = first + 2, groups - 1, 3 do
  if not refused[tonumber(ARGV[i])] then noteMember(ARGV[i + 1], '', 'pending') end
end
call('SET', KEYS[1], ARGV[3] .. ' ' .. cmsgpack.pack(result), 'PX', ARGV[4])

local place = 0
local i = groups
-- When the earliest member of `schedule` was due before this batch, and when it is due now.
local head, earliest
while i <= #ARGV do
  if ARGV[i] ~= 'later' then
    local queue, last, ending = ARGV[i + 1], i + 2 + ARGV[i + 2], ARGV[i] == 'now' and enqueuedAt or ''
    local count = 0
    i = i + 3
    while i <= last do
      -- Lua limits the number of arguments of a call.
      local batch = {}
      for k = i, math.min(i + 999, last) do
        place = place + 1
        if not refused[place] then batch[#batch + 1] = ARGV[k] .. ending end
      end
      if #batch > 0 then call('LPUSH', 'queue:' .. queue, unpack(batch)) end
      count = count + #batch
      i = math.min(i + 1000, last + 1)
    end
    pushed(queue, count)
  else
    local last = i + 1 + 4 * ARGV[i + 1]
    for k = i + 2, last, 4 do
      place = place + 1
      if not refused[place] then
        local at, queue, payload = tonumber(ARGV[k + 1]), ARGV[k + 2], ARGV[k + 3]
        if ARGV[k] == 'in' then at = now + at end
        if at <= now then
          call('LPUSH', 'queue:' .. queue, string.sub(payload, -1) == '}' and string.sub(payload, 1, -2) .. enqueuedAt or payload)
          pushed(queue, 1)
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
countMembers(now)
-- The user may lack the permission to publish: pollers then see the job a second later.
if earliest then redis.pcall('PUBLISH', 'jobs:wake', 'due') end
return result
