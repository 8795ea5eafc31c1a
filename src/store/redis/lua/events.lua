--- part events
-- The log of events, jobs:events (stream): an entry per event with the ID NUMBER-0, the time, the number of the entry before, and the body.
-- The hash jobs:events:log has until when events are recorded, and how long they are kept, in ms.
local recording, lastEvent

local function isRecording(now)
  if recording == nil then
    local till = redis.pcall('HGET', 'jobs:events:log', 'until')
    recording = type(till) == 'string' and tonumber(till) > now
  end
  return recording
end

-- Records an event. members: of JSON. Numbers rise with the time, 1024 per ms: a server that lost its latest writes gives none again.
local function recordEvent(now, members)
  if not isRecording(now) then return end
  local call = redis.call
  local before = lastEvent
  if not before then
    local entry = call('XREVRANGE', 'jobs:events', '+', '-', 'COUNT', 1)[1]
    before = entry and tonumber((string.match(entry[1], '^%d+'))) or 0
    -- Usually no client waits. A user without the permission for PUBSUB publishes anyway.
    local listeners = redis.pcall('PUBSUB', 'NUMSUB', 'jobs:events')
    if listeners.err or tonumber(listeners[2]) > 0 then redis.pcall('PUBLISH', 'jobs:events', 'more') end
  end
  lastEvent = math.max(before + 1, now * 1024)
  call('XADD', 'jobs:events', 'MAXLEN', '~', 100000, string.format('%.0f-0', lastEvent), 'at', string.format('%.0f', now),
    'before', string.format('%.0f', before), 'body', '{' .. members .. '}')
end

-- Records the end of a job. members: what its payload doesn't have.
local function recordEnd(now, members, payload)
  if not isRecording(now) then return end
  local fine, job = pcall(cjson.decode, payload)
  if fine and type(job) == 'table' then
    for _, name in ipairs({ 'jid', 'class', 'queue', 'batch' }) do
      if type(job[name]) == 'string' then members = members .. ',"' .. name .. '":' .. cjson.encode(job[name]) end
    end
    if type(job.tags) == 'table' and type(job.tags[1]) == 'string' then
      local tags = {}
      for i, tag in ipairs(job.tags) do tags[i] = type(tag) == 'string' and tag or '' end
      members = members .. ',"tags":' .. cjson.encode(tags)
    end
  else
    -- One that is nested too deeply: of the fields with this name, that of the job is usually the last.
    local jid = string.match(payload, '.*"jid":"([%w_-]+)"')
    if jid then members = members .. ',"jid":"' .. jid .. '"' end
  end
  recordEvent(now, members)
end

--- script eventsKeep(; now, ms) allow-oom: events
-- Records events for a time, and drops those that are too old. Where recording had ended, it records a gap.
--
-- ms       "0": only drops events
-- Result   1 if more may be too old, else 0
-- O(N) for at most 1,000 events

local call = redis.call
-- Fail on a key of the wrong type before anything is written.
call('XLEN', 'jobs:events')
ms = tonumber(ms)
local till, kept = unpack(call('HMGET', 'jobs:events:log', 'until', 'keep'))
if ms > 0 and now + ms >= tonumber(till or 0) then
  call('HSET', 'jobs:events:log', 'until', string.format('%.0f', now + ms), 'keep', string.format('%.0f', ms))
  kept = ms
  if till and tonumber(till) < now then recordEvent(now, '"type":"gap","since":' .. till) end
end
if not kept then return 0 end
-- The last one stays: the next one names its number.
local entries = call('XRANGE', 'jobs:events', '-', '+', 'COUNT', 1001)
local first
for i = 1, #entries do
  if tonumber(entries[i][2][2]) >= now - kept then break end
  first = entries[i + 1]
end
if first then call('XTRIM', 'jobs:events', 'MINID', first[1]) end
return #entries == 1001 and first == entries[1001] and 1 or 0

--- script eventsRead(; after, limit, maxSize) no-writes
-- Reads the events after a number, up to the limits of number and size, but at least one.
--
-- Result   the number of the event before the first one, then per event its number, its time and its body
-- O(N) for N events

local call = redis.call
local left, size = tonumber(limit), tonumber(maxSize)
local result = { '0' }
local from = '(' .. after .. '-0'
while left > 0 do
  local count = math.min(left, 20)
  local entries = call('XRANGE', 'jobs:events', from, '+', 'COUNT', count)
  for _, entry in ipairs(entries) do
    local fields = entry[2]
    size = size - #fields[6]
    if #result == 1 then result[1] = fields[4] elseif size < 0 then return result end
    for _, part in ipairs({ string.match(entry[1], '^%d+'), fields[2], fields[6] }) do result[#result + 1] = part end
    from = '(' .. entry[1]
  end
  left = left - count
  if #entries < count then break end
end
return result
