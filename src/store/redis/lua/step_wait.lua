#!lua
-- Begins or continues a wait of a job, under its lease.
--
-- KEYS[1]  jobs:leases:WORKER
-- KEYS[2]  jobs:steps:JID
-- ARGV     offset of the clock in ms, token, jid, name, JSON members of the record, longest wait in ms, when the job's last
--          step began, key of its signal ("" for none), wire (7 or 8),
--          and of its child job, if it has one: queue, payload, "at" or "in" ("" for now), ms
-- Result   its record, ms until it times out; false if the worker has lost the lease
-- O(1), and O(log M) for a scheduled child, with M members of `schedule`

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local leases, steps = KEYS[1], KEYS[2]
local token, jid, name, about, forMs, after, key = ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]

if call('HEXISTS', leases, token) == 0 then return false end
local present = call('HGET', steps, name)
if present then
  local untilMs = tonumber((string.match(present, WAITING)))
  if not untilMs then return { present, '0' } end
  if untilMs > now then
    -- The job was dead, and has been retried.
    if key ~= '' then joinWaiting(now, jid, name, key, untilMs - now) end
    return { present, string.format('%.0f', untilMs - now) }
  end
  return { passWait(now, jid, name, present), '0' }
end

-- Fail on a key of the wrong type before anything is written.
call('HLEN', 'jobs:waits')
if key ~= '' then
  call('LLEN', 'jobs:signals:' .. key)
  call('ZCARD', 'jobs:waiting:' .. key)
end
local queue, payload = ARGV[10], ARGV[11]
if queue then
  checkQueue(queue)
  call('ZCARD', 'schedule')
end
local waiting = string.format('{"state":"waiting","until":%.0f,"since":%.0f', now + forMs, math.max(now, after + 1)) ..
  (about == '' and '' or ',' .. about) .. '}'
if key ~= '' then
  local kept = call('LPOP', 'jobs:signals:' .. key)
  while kept do
    local expires, data = string.match(kept, '^(%d+) (.*)$')
    if expires and tonumber(expires) > now then
      local ended = endedRecord(waiting, now, '"value":' .. data, 'succeeded')
      call('HSET', steps, name, ended)
      return { ended, '0' }
    end
    kept = call('LPOP', 'jobs:signals:' .. key)
  end
  joinWaiting(now, jid, name, key, forMs)
end
call('HSET', steps, name, waiting)
apart(countWait, now, waiting)

if queue then
  local at = now
  if ARGV[12] == 'in' then at = now + ARGV[13] elseif ARGV[12] == 'at' then at = tonumber(ARGV[13]) end
  if at <= now then
    local enqueuedAt = ARGV[9] == '8' and string.format('%.0f', now) or string.format('%.3f', now / 1000)
    call('LPUSH', 'queue:' .. queue, string.sub(payload, 1, -2) .. ',"enqueued_at":' .. enqueuedAt .. '}')
    notePush(queue, 1)
  else
    addMember('schedule', at, payload)
    redis.pcall('PUBLISH', 'jobs:wake', 'due')
  end
end
return { waiting, string.format('%.0f', forMs) }
