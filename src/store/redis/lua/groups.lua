--- part groups: asides
-- Groups of queues, see port/groups.ts. The jobs of a group are in a separate list, queue:QUEUE|GROUP, with the keys
--   jobs:groups:ready:QUEUE   group → tag, the virtual time of its next turn, for those with jobs (sorted set)
--   jobs:groups:held:QUEUE    the same for groups at their limit
--   jobs:groups:due:QUEUE     held group → ms at which time alone makes it ready (sorted set)
--   jobs:groups:idle:QUEUE    group without jobs → its tag, while that is ahead of the queue's virtual time (sorted set)
--   jobs:groups:state:QUEUE   v: the queue's virtual time, u: the tag of its jobs without a group, size: jobs in groups (hash)
--   jobs:groups:limits:QUEUE  group ("": each group) → "RUNNING STARTS PER_MS WEIGHT UNTIL_MS", 0 for none (hash)
--   jobs:groups:paused:QUEUE  paused group → ms at which its pause ends, 0: it has no end (hash)
--   jobs:groups:aside:QUEUE   places of jobs aside: see asides.lua
-- A queue with jobs in groups, or with limits or pauses of groups, has a "g" at the end of its text in jobs:limits. `take`
-- reads that text anyway, so a queue without groups costs nothing.

-- Returns queue and group of a name; nil for the name of a queue.
local function groupIn(name) return string.match(name, '^([^|]*)|(.+)$') end

local checked = {}

-- Fails on a key of a queue's groups that has the wrong type. Call it before the first write.
local function checkGroups(queue)
  if checked[queue] then return end
  checked[queue] = true
  local call = redis.call
  call('HLEN', 'jobs:limits')
  for _, kind in ipairs({ 'ready:', 'held:', 'due:', 'idle:', 'aside:' }) do call('ZCARD', 'jobs:groups:' .. kind .. queue) end
  local size = call('HGET', 'jobs:groups:state:' .. queue, 'size')
  if size and not string.find(size, '^%-?%d+$') then error('size of jobs:groups:state:' .. queue .. ' is not a number') end
end

-- The same for all keys that a push to a queue or a group changes.
local function checkQueue(name)
  if not checked[''] then redis.call('SCARD', 'queues') end
  checked[''] = true
  redis.call('LLEN', 'queue:' .. name)
  local queue = string.find(name, '|', 1, true) and groupIn(name)
  if queue then checkGroups(queue) end
end

-- Adds the "g" to the text of a queue.
local function markGrouped(queue)
  local text = redis.call('HGET', 'jobs:limits', queue) or '0 0 0'
  if string.sub(text, -1) ~= 'g' then redis.call('HSET', 'jobs:limits', queue, text .. ' g') end
end

-- Deletes the state of turns when no group of the queue has jobs: the next groups start as equals. While jobs without a group
-- wait, a group that has had more than its share keeps its tag: it would go first each time that it gets a job.
local function endTurns(queue)
  local call = redis.call
  if call('EXISTS', 'jobs:groups:ready:' .. queue, 'jobs:groups:held:' .. queue, 'jobs:groups:aside:' .. queue) > 0 then
    return false
  end
  if call('EXISTS', 'jobs:groups:idle:' .. queue) == 1 and call('EXISTS', 'queue:' .. queue) == 1 then return false end
  call('DEL', 'jobs:groups:state:' .. queue, 'jobs:groups:idle:' .. queue, 'jobs:groups:due:' .. queue)
  if call('EXISTS', 'jobs:groups:limits:' .. queue, 'jobs:groups:paused:' .. queue) > 0 then return true end
  local text = string.match(call('HGET', 'jobs:limits', queue) or '', '^(.*) g$')
  if text == '0 0 0' then
    call('HDEL', 'jobs:limits', queue)
  elseif text then
    call('HSET', 'jobs:limits', queue, text)
  end
  return true
end

local function makeReady(queue, group, tag)
  local ready = 'jobs:groups:ready:' .. queue
  -- No group was ready, so workers may wait. The user may lack the permission to publish.
  if redis.call('EXISTS', ready) == 0 then redis.pcall('PUBLISH', 'jobs:wake', 'groups') end
  redis.call('ZADD', ready, tag, group)
end

local function virtualTime(queue) return tonumber(redis.call('HGET', 'jobs:groups:state:' .. queue, 'v') or 0) or 0 end

-- Returns the scores of members of a sorted set, false for those that it doesn't have.
local function scoresOf(key, members)
  local scores = {}
  -- Lua limits the number of arguments of a call.
  for from = 1, #members, 1000 do
    for i, score in ipairs(redis.call('ZMSCORE', key, unpack(members, from, math.min(from + 999, #members)))) do
      scores[from + i - 1] = score
    end
  end
  return scores
end

-- Makes the groups of a queue ready that have got jobs and are neither ready nor held.
local function wakeIdle(queue, groups)
  local call = redis.call
  local function without(kind, these)
    local others = {}
    for i, score in ipairs(scoresOf('jobs:groups:' .. kind .. ':' .. queue, these)) do
      if not score then others[#others + 1] = these[i] end
    end
    return others
  end
  local idle = without('held', without('ready', groups))
  if #idle == 0 then return end
  local v = virtualTime(queue)
  local tags = scoresOf('jobs:groups:idle:' .. queue, idle)
  for i, group in ipairs(idle) do
    if tags[i] then call('ZREM', 'jobs:groups:idle:' .. queue, group) end
  end
  makeReady(queue, idle[1], math.max(v, tonumber(tags[1] or 0)))
  for from = 2, #idle, 1000 do
    local arguments = {}
    for i = from, math.min(from + 999, #idle) do
      arguments[#arguments + 1] = math.max(v, tonumber(tags[i] or 0))
      arguments[#arguments + 1] = idle[i]
    end
    call('ZADD', 'jobs:groups:ready:' .. queue, unpack(arguments))
  end
end

-- Notes pushed jobs, by the name of their queue or group: lists the queue, and makes groups ready. Call this after each push.
local function notePushes(counts)
  local call = redis.call
  local queues = {}
  for name, count in pairs(counts) do
    local queue, group
    if string.find(name, '|', 1, true) then queue, group = groupIn(name) end
    local found = queues[queue or name]
    if not found then
      found = { size = 0, groups = {}, asides = {} }
      queues[queue or name] = found
    end
    if queue and count > 0 then
      found.size = found.size + count
      local kind = isAside(group) and 'asides' or 'groups'
      found[kind][#found[kind] + 1] = group
    end
  end
  for queue, found in pairs(queues) do
    call('SADD', 'queues', queue)
    if found.size > 0 then
      if call('HINCRBY', 'jobs:groups:state:' .. queue, 'size', found.size) == found.size then markGrouped(queue) end
      wakeIdle(queue, found.groups)
      for _, place in ipairs(found.asides) do call('ZADD', 'jobs:groups:aside:' .. queue, 'NX', 0, place) end
      if #found.asides > 0 then
        call('SADD', 'jobs:asides', queue)
        redis.pcall('PUBLISH', 'jobs:wake', 'groups')
      end
    end
  end
end

-- The same for one queue or group.
local function notePush(name, count) notePushes({ [name] = count }) end

-- Notes that jobs were removed from queue:NAME. Call this after each removal other than by a take.
local function noteRemoval(name, count)
  local call = redis.call
  local queue, group = groupIn(name)
  if not queue or count == 0 then return end
  call('HINCRBY', 'jobs:groups:state:' .. queue, 'size', -count)
  if call('EXISTS', 'queue:' .. name) == 1 then return end
  for _, kind in ipairs({ 'ready:', 'held:', 'due:', 'aside:' }) do call('ZREM', 'jobs:groups:' .. kind .. queue, group) end
  if isAside(group) and call('EXISTS', 'jobs:groups:aside:' .. queue) == 0 then call('SREM', 'jobs:asides', queue) end
  endTurns(queue)
end

-- Makes a held group ready after one of its leases has ended. If it is still at its limit, its next turn holds it again.
local function wakeGroup(name)
  local call = redis.call
  local queue, group = groupIn(name)
  if not queue then return end
  local tag = call('ZSCORE', 'jobs:groups:held:' .. queue, group)
  if not tag then return end
  call('ZREM', 'jobs:groups:held:' .. queue, group)
  call('ZREM', 'jobs:groups:due:' .. queue, group)
  makeReady(queue, group, math.max(virtualTime(queue), tonumber(tag)))
end

--- script wakeGroups(; queue, group, max) allow-oom: groups
-- Makes held groups of a queue ready after their limit has changed. Groups that are still at their limit are held again at
-- their next turn.
--
-- group    "" for each
-- Result   how many groups are still held
-- O(N log M) for N of M groups

local call = redis.call
checkGroups(queue)
local held = 'jobs:groups:held:' .. queue
local groups = group ~= '' and { group } or call('ZRANGE', held, 0, max - 1)
for _, one in ipairs(groups) do wakeGroup(queue .. '|' .. one) end
endTurns(queue)
return group == '' and call('ZCARD', held) or 0

--- script readGroupRows(; now, queue, maxBytes, groups[]) no-writes: enqueuedAt groupLimits pauses
-- Reads groups of a queue.
--
-- maxBytes  of the oldest jobs
-- groups   "" for the limit of each group
-- Result   per group, for at least one, until the bytes are too many: size, weight as text, ms until its separate limit ends (0: it
--          doesn't), 1 if it has a separate limit, 2 if just a separate weight, else 0, paused (0 no, -1 until it is resumed, else the
--          remaining ms), max running, max starts, per ms (0 for none), ms until a job may be taken (-1: when one ends), running,
--          started, ms since its oldest job was enqueued, 1 if it is ready
-- O(N) for N jobs that count against their limits

local call = redis.call
local ready = 'jobs:groups:ready:' .. queue
local rows = {}
local bytes = tonumber(maxBytes)
for i, group in ipairs(groups) do
  if bytes <= 0 then break end
  local name = queue .. '|' .. group
  local limit = groupLimitOf(queue, group, now)
    or { running = 0, starts = 0, per = 0, weight = 1, till = 0, isOwn = false }
  local _, opens, running, started = groupRoomIn(name, limit, now)
  local key = name == queue .. '|' and 'queue:' .. queue or 'queue:' .. name
  local size = redis.pcall('LLEN', key)
  local oldest = type(size) == 'number' and call('LINDEX', key, -1)
  local at = oldest and enqueuedAt(oldest) or now
  if oldest then bytes = bytes - #oldest end
  rows[i] = {
    type(size) == 'number' and size or 0, tostring(limit.weight), limit.till > 0 and limit.till - now or 0,
    limit.sharesLimit and 2 or limit.isOwn and 1 or 0,
    groupPausedFor(now, queue, group), limit.running, limit.starts, limit.per, opens, running, started,
    math.max(0, math.floor(now - at)), call('ZSCORE', ready, group) and 1 or 0,
  }
end
return rows

--- script slowestGroup(; now, queue, maxBytes, groups[]) no-writes: enqueuedAt
-- Finds the group of a queue whose oldest job has been queued for the longest time.
--
-- maxBytes  of the oldest jobs
-- Result   how many of the groups were read, at least one: the others have too many bytes; the group, ms since its oldest job was
--          enqueued: without these if that is unknown of all
-- O(N) for N groups

local call = redis.call
local slowest, first
local bytes, count = tonumber(maxBytes), 0
for _, group in ipairs(groups) do
  if bytes <= 0 then break end
  count = count + 1
  -- A key of another type must not hide the other groups.
  local oldest = redis.pcall('LINDEX', 'queue:' .. queue .. '|' .. group, -1)
  local at = type(oldest) == 'string' and enqueuedAt(oldest)
  if type(oldest) == 'string' then bytes = bytes - #oldest end
  if at and (not first or at < first) then slowest, first = group, at end
end
if not slowest then return { count } end
return { count, slowest, math.max(0, math.floor(now - first)) }
