-- Included: throttles of pushes. jobs:throttle:KEY is a list of "MS JID", the latest on the left: when the last pushes with the
-- key were accepted, and their jobs.

-- Returns nil if a throttle accepts a push now; else ms until it does, a space, and the jid of the job whose place is free then.
local function fullThrottle(now, key, _, count, per)
  local list = 'jobs:throttle:' .. key
  local oldest = redis.call('LINDEX', list, count - 1)
  if not oldest then return end
  local latest = redis.call('LINDEX', list, 0)
  if (tonumber(string.match(latest, '^%d+') or nil) or 0) > now then
    -- The clock was set back. Later times become now, so that the throttle is full for `per` at most.
    for i, line in ipairs(redis.call('LRANGE', list, 0, -1)) do
      local at, jid = string.match(line, '^(%d+) (.*)$')
      if not at or tonumber(at) <= now then break end
      redis.call('LSET', list, i - 1, string.format('%d', now) .. ' ' .. jid)
    end
    oldest = redis.call('LINDEX', list, count - 1)
  end
  local at, jid = string.match(oldest, '^(%d+) (.*)$')
  -- Another text isn't a push.
  if not at then return end
  local wait = at + per - now
  if wait > 0 then return string.format('%d', wait) .. ' ' .. jid end
end

local function noteThrottled(now, key, jid, count, per)
  local list = 'jobs:throttle:' .. key
  redis.call('LPUSH', list, string.format('%d', now) .. ' ' .. jid)
  redis.call('LTRIM', list, 0, count - 1)
  redis.call('PEXPIRE', list, per)
end
