-- Included: groups of queues, see port/groups.ts. The jobs of a group are in a separate list, queue:QUEUE|GROUP, with the keys
--   jobs:groups:ready:QUEUE   group → tag, the virtual time of its next turn, for those with jobs (sorted set)
--   jobs:groups:held:QUEUE    the same for groups at their limit
--   jobs:groups:due:QUEUE     held group → ms at which time alone makes it ready (sorted set)
--   jobs:groups:idle:QUEUE    group without jobs → its tag, while that is ahead of the queue's virtual time (sorted set)
--   jobs:groups:state:QUEUE   v: the queue's virtual time, u: the tag of its jobs without a group, size: jobs in groups (hash)
--   jobs:groups:limits:QUEUE  group ("": each group) → "RUNNING STARTS PER_MS WEIGHT UNTIL_MS", 0 for none (hash)
--   jobs:groups:paused:QUEUE  paused group → ms at which its pause ends, 0: it has no end (hash)
-- A queue with jobs in groups, or with limits or pauses of groups, has a "g" at the end of its text in jobs:limits. take.lua reads that
-- text anyway, so a queue without groups costs nothing.

-- Returns queue and group of a name; nil for the name of a queue.
local function groupIn(name) return string.match(name, '^([^|]*)|(.+)$') end

local function markGrouped(queue)
  local text = redis.call('HGET', 'jobs:limits', queue) or '0 0 0'
  if string.sub(text, -1) ~= 'g' then redis.call('HSET', 'jobs:limits', queue, text .. ' g') end
end

-- Deletes the state of turns when no group of the queue has jobs: the next groups start as equals. While jobs without a group
-- wait, a group that has had more than its share keeps its tag: it would go first each time that it gets a job.
local function endTurns(queue)
  local call = redis.call
  if call('EXISTS', 'jobs:groups:ready:' .. queue, 'jobs:groups:held:' .. queue) > 0 then return false end
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

local function virtualTime(queue) return tonumber(redis.call('HGET', 'jobs:groups:state:' .. queue, 'v') or 0) end

-- Call this after pushing jobs to queue:NAME, a queue or a group.
local function pushed(name, count)
  local call = redis.call
  local queue, group
  if string.find(name, '|', 1, true) then queue, group = groupIn(name) end
  call('SADD', 'queues', queue or name)
  if not queue or count == 0 then return end
  if call('HINCRBY', 'jobs:groups:state:' .. queue, 'size', count) == count then markGrouped(queue) end
  if call('ZSCORE', 'jobs:groups:ready:' .. queue, group) or call('ZSCORE', 'jobs:groups:held:' .. queue, group) then return end
  local idle = 'jobs:groups:idle:' .. queue
  local tag = tonumber(call('ZSCORE', idle, group) or 0)
  call('ZREM', idle, group)
  makeReady(queue, group, math.max(virtualTime(queue), tag))
end

-- Call this after removing jobs from queue:NAME other than by a take.
local function removed(name, count)
  local call = redis.call
  local queue, group = groupIn(name)
  if not queue or count == 0 then return end
  call('HINCRBY', 'jobs:groups:state:' .. queue, 'size', -count)
  if call('EXISTS', 'queue:' .. name) == 1 then return end
  for _, kind in ipairs({ 'ready:', 'held:', 'due:' }) do call('ZREM', 'jobs:groups:' .. kind .. queue, group) end
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

-- Returns a leased job to the front of its queue or group. Call it for the youngest of several first, so that the oldest ends
-- at the very front: the right end.
local function giveBack(token, payload)
  local name = string.match(token, ':(.*)$')
  redis.call('RPUSH', 'queue:' .. name, payload)
  pushed(name, 1)
  if groupIn(name) then
    redis.call('HDEL', 'jobs:running:' .. name, token)
    wakeGroup(name)
  end
end
