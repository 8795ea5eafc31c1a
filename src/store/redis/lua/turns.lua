--- part turns: groupLimits
-- The order of turns.

-- Returns three functions over the ready groups of a queue, in the order of their turns. They read the groups in parts, and need
-- jobs:groups:ready:QUEUE to stay unchanged: peek, remove (the group that peek has returned), add (it again, with another tag).
local function readyGroups(queue)
  local call = redis.call
  local ready = 'jobs:groups:ready:' .. queue
  -- The tag of the jobs of high priority; nil without any.
  local high = tonumber(call('ZSCORE', ready, HIGH) or nil)
  -- Groups that were read: group, tag, group, tag …
  local groups, at, read = {}, 1, 0
  -- Those that have had a turn and have jobs left, in the order of their tags.
  local again, first = {}, 1

  -- Returns the group whose turn is next, its tag, and the virtual time of the turn.
  local function peek()
    if groups[at] == HIGH then at = at + 2 end
    if at > #groups and read then
      groups, at = call('ZRANGE', ready, read, read + 99, 'WITHSCORES'), 1
      read = #groups == 200 and read + 100 or nil
      if groups[1] == HIGH then at = 3 end
    end
    local group, tag = groups[at], tonumber(groups[at + 1])
    local other = again[first]
    if other and (not tag or other[2] < tag) then group, tag = other[1], other[2] end
    if high and (not tag or high - HEAD_START < tag) then return HIGH, high, high - HEAD_START end
    return group, tag, tag
  end

  local function remove(group)
    if group == HIGH then
      high = nil
    elseif again[first] and again[first][1] == group then
      first = first + 1
    else
      at = at + 2
    end
  end

  local function add(group, tag)
    if group == HIGH then
      high = tag
      return
    end
    local place = #again + 1
    while place > first and again[place - 1][2] > tag do place = place - 1 end
    table.insert(again, place, { group, tag })
  end

  return peek, remove, add
end

--- part groupChanges: groupLimits limits pauses
-- The changes that a take makes to the groups of a queue.

local function keysOf(map)
  local keys = {}
  for key in pairs(map) do keys[#keys + 1] = key end
  return keys
end

-- Adds members to a sorted set, by their scores.
local function addScores(key, scores)
  local arguments = {}
  for member, score in pairs(scores) do
    arguments[#arguments + 1] = score
    arguments[#arguments + 1] = member
    if #arguments == 1000 then
      redis.call('ZADD', key, unpack(arguments))
      arguments = {}
    end
  end
  if #arguments > 0 then redis.call('ZADD', key, unpack(arguments)) end
end

-- Calls `each` with the groups of a list that have jobs, or with those that have none. Asks for many at once first: usually all
-- are alike.
local function eachGroup(queue, groups, haveJobs, each)
  for from = 1, #groups, 1000 do
    local to = math.min(from + 999, #groups)
    local keys = {}
    for i = from, to do keys[#keys + 1] = 'queue:' .. queue .. '|' .. groups[i] end
    if redis.call('EXISTS', unpack(keys)) ~= (haveJobs and 0 or #keys) then
      for i, key in ipairs(keys) do
        if (redis.call('EXISTS', key) == 1) == haveJobs then each(groups[from + i - 1]) end
      end
    end
  end
end

-- Makes held groups ready whose time has come. After the clock was set back, the times of all are too late.
local function readyDue(queue, vtime, now)
  local call = redis.call
  local held, due = 'jobs:groups:held:' .. queue, 'jobs:groups:due:' .. queue
  local early = earlyStarts(queue, now)
  for _, group in ipairs(early) do capMoments('jobs:starts:' .. queue .. '|' .. group, now) end
  -- Then the last ones come first: they are those that were checked.
  local groups = #early > 0 and call('ZRANGE', due, 0, 99, 'REV') or call('ZRANGE', due, '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)
  for _, group in ipairs(groups) do
    local tag = call('ZSCORE', held, group)
    call('ZREM', due, group)
    call('ZREM', held, group)
    if tag then call('ZADD', 'jobs:groups:ready:' .. queue, math.max(vtime, tonumber(tag)), group) end
  end
end

-- Makes some of the held groups ready that no longer need to be held. Their event was missed: the worker that ran their jobs has
-- died, or another program changed the keys. Returns whether it found any.
local function recheckHeld(queue, vtime, now)
  local call = redis.call
  local held, due = 'jobs:groups:held:' .. queue, 'jobs:groups:due:' .. queue
  local found = false
  for _, group in ipairs(call('ZRANDMEMBER', held, 5)) do
    local limit = groupLimitOf(queue, group, now)
    if not call('ZSCORE', due, group) and groupPausedFor(now, queue, group) == 0 and (not limit or groupRoomIn(queue .. '|' .. group, limit, now, true) > 0) then
      call('ZADD', 'jobs:groups:ready:' .. queue, math.max(vtime, tonumber(call('ZSCORE', held, group))), group)
      call('ZREM', held, group)
      found = true
    end
  end
  return found
end

-- Returns the changes that a take makes, which `write` writes together. leasesKey: the leases of the worker. noteQueue: counts
-- leases against the limit of the queue, or nil. Lists of leases are flat: token, payload, token, payload …
local function groupChanges(queue, leasesKey, now, noteQueue)
  local call = redis.call
  local ready, held = 'jobs:groups:ready:' .. queue, 'jobs:groups:held:' .. queue
  -- Tags of groups that stay ready, and of those without jobs; of those held also ms until they become ready (-1: when one of
  -- their leases ends).
  local tags, emptied, holds = {}, {}, {}
  -- Groups in `tags` that may be without jobs.
  local unsure = {}
  -- The leases to write.
  local changes = { leases = {} }

  function changes.keepLater(some)
    local leases = changes.leases
    for _, value in ipairs(some) do leases[#leases + 1] = value end
  end

  function changes.keepNow(some)
    call('HSET', leasesKey, unpack(some))
    if noteQueue then noteQueue(some) end
  end

  -- The group has jobs left.
  function changes.stay(group, tag) tags[group] = tag end

  -- The same if it is unknown whether it has.
  function changes.mayStay(group, tag)
    if not tags[group] then unsure[#unsure + 1] = group end
    tags[group] = tag
  end

  function changes.empty(group, tag) tags[group], emptied[group] = nil, tag end

  function changes.hold(group, tag, opens) tags[group], holds[group] = nil, { tag, opens } end

  function changes.write()
    local leases = changes.leases
    for from = 1, #leases, 1000 do
      local some = { unpack(leases, from, math.min(from + 999, #leases)) }
      changes.keepNow(some)
    end
    eachGroup(queue, unsure, false, function(group)
      if tags[group] then tags[group], emptied[group] = nil, tags[group] end
    end)
    -- They may have got jobs since: those of clients that don't know groups.
    eachGroup(queue, keysOf(emptied), true, function(group)
      tags[group], emptied[group] = emptied[group], nil
    end)
    local gone = keysOf(emptied)
    for from = 1, #gone, 1000 do call('ZREM', ready, unpack(gone, from, math.min(from + 999, #gone))) end
    addScores('jobs:groups:idle:' .. queue, emptied)
    addScores(ready, tags)
    for group, hold in pairs(holds) do
      call('ZREM', ready, group)
      call('ZADD', held, hold[1], group)
      if hold[2] >= 0 then call('ZADD', 'jobs:groups:due:' .. queue, now + hold[2], group) end
    end
    tags, emptied, holds, unsure = {}, {}, {}, {}
    changes.leases = {}
  end

  return changes
end
