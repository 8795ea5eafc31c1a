--- part pushOnce: job groups
-- Returns the name of the queue, or of the group in it, for a payload: port/groups.ts.
local function nameFor(queue, payload)
  local group = groupNamedIn(payload)
  local job = not group and jobWith(payload, 'priority"')
  if job and (job.priority == 'high' or job.priority == 'low') then group = '|' .. job.priority end
  return group and queue .. '|' .. group or queue
end

-- Pushes a job whose jid no other job has. job: queue, payload without its closing brace, at: ms, absent for now.
local function pushOnce(now, wire, job)
  local call = redis.call
  if job.at and job.at > now then
    call('ZADD', 'schedule', string.format('%.3f', job.at / 1000), job.payload .. '}')
    -- It fails where the user may not publish; pollers then see it a second later.
    redis.pcall('PUBLISH', 'jobs:wake', 'due')
    return
  end
  local at = wire == '8' and string.format('%d', now) or string.format('%.3f', now / 1000)
  local payload = job.payload .. ',"enqueued_at":' .. at .. '}'
  local name = nameFor(job.queue, payload)
  local pushed = redis.pcall('LPUSH', 'queue:' .. name, payload)
  -- A queue whose key has another type must not prevent the end of a job: the poller reports it.
  if type(pushed) == 'table' then
    call('SADD', 'queues', job.queue)
    call('ZADD', 'schedule', string.format('%.3f', now / 1000), job.payload .. '}')
  else
    apart(notePush, name, 1)
  end
end

--- part announceBatch: job pushOnce events
-- Records the event of a complete batch, or of an ended flow, and pushes its webhook jobs: as `batchNotice` and `deliveriesOf`
-- (src/store/ops/batch_notice.ts, src/job/webhook.ts) make them.
local function contains(list, one)
  if type(list) == 'string' then return list == one end
  for _, other in ipairs(type(list) == 'table' and list or {}) do
    if other == one then return true end
  end
  return false
end

local function announceBatch(now, id)
  local text = redis.call('GET', 'jobs:webhooks')
  if not text and not isRecording(now) then return end
  local names = { 'spec', 'closed_as', 'wire', 'flow', 'total', 'succeeded', 'failed', 'dead', 'cancelled', 'expired', 'deleted' }
  local row = redis.call('HMGET', 'jobs:batch:' .. id, unpack(names))
  local spec = cjson.decode(row[1])
  local event = row[4] and 'flow.ended' or 'batch.complete'
  local state = 'failed'
  if row[2] == 'cancelled' then state = 'cancelled'
  elseif row[8] ~= '0' then state = 'stuck'
  elseif row[5] == row[6] then state = 'succeeded' end
  local about = ''
  if type(spec.name) == 'string' then about = about .. ',"name":' .. cjson.encode(spec.name) end
  if type(spec.tags) == 'table' and #spec.tags > 0 then about = about .. ',"tags":' .. cjson.encode(spec.tags) end
  about = about .. ',"state":"' .. state .. '"'
  apart(recordEvent, now, '"type":"' .. event .. '","batch":' .. cjson.encode(id) .. about)
  local data = '{"id":' .. cjson.encode(id) .. about
  for i = 5, #names do data = data .. ',"' .. names[i] .. '":' .. row[i] end
  local notice = string.format('{"id":"%s-complete","type":"%s","at":%.0f,"data":%s}}', id, event, now, data)
  for _, one in ipairs(cjson.decode(text or '[]')) do
    if (one.on == nil or contains(one.on, event)) and (one.on ~= nil or contains(spec.notify, one.name)) then
      pushOnce(now, row[3], {
        queue = 'webhooks',
        payload = string.format(
          '{"class":"webhook:%s","args":[%s],"jid":"%s-complete-%s","queue":"webhooks","retry":true,"created_at":%.3f',
          one.name, notice, id, one.name, now / 1000),
      })
    end
  end
end
