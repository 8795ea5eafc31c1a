--- part replace: job groups
-- Jobs that a push with the same unique lock replaces while they wait. jobs:replaceable:JID is where
-- such a job waits: MessagePack of the key of its place and its text there. The text is kept twice, because Redis finds it only by
-- its exact bytes. A record counts for nothing if its job isn't there: it runs, or has been edited. It expires with the lock.
local function keepReplaceable(jid, place, text)
  local left = redis.call('PTTL', 'jobs:unique-of:' .. jid)
  if left > 0 then redis.call('SET', 'jobs:replaceable:' .. jid, cmsgpack.pack({ place, text }), 'PX', left) end
end

-- Notes that a job waits in a queue or a set, if it may be replaced there: not one with steps behind it, and none that a batch or
-- a step of another job waits for.
local function noteReplaceable(place, text)
  local job = jobWith(text, '_duplicate"')
  if not job or job.on_duplicate ~= 'replace' or type(job.jid) ~= 'string' then return end
  if not (job.has_steps or job.batch_counted or job.parent) then keepReplaceable(job.jid, place, text) end
end

-- A script compares this many entries of queues. The first search is as long as its queue.
local MAX_WALKED = 1000000
local walked = 0

-- Returns where a job waits: { key of its place, its text, its index in a queue }; nil if it doesn't, or may not be replaced.
-- Returns false if the script would have to search a long queue once more: the client then sends this job again.
local function findReplaceable(jid)
  local record = redis.pcall('GET', 'jobs:replaceable:' .. jid)
  local fine, found = pcall(cmsgpack.unpack, record)
  if not fine or type(found) ~= 'table' then return end
  local place, text = unpack(found)
  if type(place) ~= 'string' or type(text) ~= 'string' then return end
  -- The key may have another type by now.
  if string.sub(place, 1, 6) ~= 'queue:' then
    local at = redis.pcall('ZSCORE', place, text)
    return type(at) == 'string' and { place, text } or nil
  end
  local length = redis.pcall('LLEN', place)
  if type(length) ~= 'number' then return end
  if walked > 0 and walked + length > MAX_WALKED then return false end
  walked = walked + length
  local index = redis.call('LPOS', place, text)
  return index and { place, text, index } or nil
end

-- Removes a job from where it waits.
local function takeReplaceable(place, text, index)
  if not index then return redis.call('ZREM', place, text) end
  local isNearFront = 2 * index > redis.call('LLEN', place)
  redis.call('LREM', place, isNearFront and -1 or 1, text)
  noteRemoval(string.sub(place, 7), 1)
end

--- part unlock: job
-- Releases a job's unique lock, if it has one.
local function unlock(jid)
  local call = redis.call
  local key = call('GET', 'jobs:unique-of:' .. jid)
  if not key then return end
  call('DEL', 'jobs:unique-of:' .. jid, 'jobs:replaceable:' .. jid)
  key = 'jobs:unique:' .. key
  if string.match(call('GET', key) or '', '^%d+ (.*)$') == jid then call('DEL', key) end
end

-- Releases the unique lock of a job that has it until it starts.
local function unlockStarted(payload)
  local job = jobWith(payload, '_until"')
  if job and job.unique_until == 'start' and type(job.jid) == 'string' then apart(unlock, job.jid) end
end
