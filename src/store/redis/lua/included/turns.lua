-- Included after group_limits.lua: the order of turns.

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
