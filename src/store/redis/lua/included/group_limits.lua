-- Included after groups.lua and limits.lua: limits of groups.

-- The jobs of a priority are stored as a group without a limit: see src/job/priority.ts.
local HIGH, HEAD_START = '|high', 1
local PRIORITIES = { [HIGH] = 10, ['|low'] = 0.1 }

-- Returns the limit of a group: its separate one until that ends, else the limit of each group; nil if the queue has none. A group
-- with just a separate weight shares the limit of each group.
local function groupLimitOf(queue, group, now)
  if PRIORITIES[group] then
    return { running = 0, starts = 0, per = 0, till = 0, isOwn = false, weight = PRIORITIES[group] }
  end
  local found
  local weight = 0
  for i, text in ipairs(redis.call('HMGET', 'jobs:groups:limits:' .. queue, group, '')) do
    local running, starts, per, own, till = string.match(text or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
    if running and (till == '0' or tonumber(till) > now) then
      if not found then
        found = { till = tonumber(till), isOwn = i == 1 and group ~= '' }
      elseif found.isOwn and found.running == 0 and found.starts == 0 then
        found.sharesLimit = true
      end
      if not found.running or found.sharesLimit then
        found.running, found.starts, found.per = tonumber(running), tonumber(starts), tonumber(per)
      end
      if weight == 0 then weight = tonumber(own) end
    end
  end
  if not found then return nil end
  found.weight = math.max(1, weight)
  return found
end

-- Computes what the limit of a group leaves: how many jobs may be taken now, ms until one may if none (-1: when one ends).
local function groupRoomIn(name, limit, now, tidy)
  local room, opens, running, started = roomIn(name, limit, now, tidy)
  if room == 0 and limit.till > 0 and (opens < 0 or limit.till - now < opens) then opens = limit.till - now end
  return room, opens, running, started
end
