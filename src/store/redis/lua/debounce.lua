--- part debounce
-- Debounced jobs. jobs:debounce:KEY is "MS JID MEMBER": when the first push of this wait came, and the job's member
-- of `schedule`. The member is kept twice, because Redis finds it only by its exact bytes. A record whose member doesn't
-- exist counts for nothing. `move` deletes it with its member; otherwise it expires.
local DEBOUNCE_KEPT_MS = 30 * 86400000

-- Notes that a member of `schedule`, due in `wait` ms, waits for a key.
local function keepDebounce(key, first, jid, member, wait)
  local text = string.format('%d', first) .. ' ' .. jid .. ' ' .. member
  redis.call('SET', 'jobs:debounce:' .. key, text, 'PX', string.format('%d', wait + DEBOUNCE_KEPT_MS))
end

-- Puts a job off, in place of the one that waits for the same key. That job's jid stays, so that each push of a burst returns
-- the jid of the job that runs. Returns it; nil if none waited.
local function debounce(push, before, after, schedule)
  local call = redis.call
  local record = 'jobs:debounce:' .. push.key
  local first, jid, member = string.match(call('GET', record) or '', '^(%d+) (%S+) (.*)$')
  local isWaiting = first and call('ZREM', 'schedule', member) == 1
  -- The clock may have been set back.
  first = isWaiting and math.min(tonumber(first), push.now) or push.now
  jid = isWaiting and jid or push.jid
  local due = push.now + push.wait
  if tonumber(push.max) > 0 then due = math.min(due, first + push.max) end
  due = math.max(due, push.now)
  member = schedule(due, before .. jid .. after)
  keepDebounce(push.key, first, jid, member, due - push.now)
  return isWaiting and jid or nil
end

--- part endDebounce: job
-- Forgets that a member of `schedule` waits for a debounce key, as it has left the set.
local function endDebounce(member)
  local job = jobWith(member, 'debounce_key"')
  if not job or type(job.debounce_key) ~= 'string' then return end
  local key = 'jobs:debounce:' .. job.debounce_key
  -- The record names the whole member.
  local waiting = string.match(redis.call('GET', key) or '', '^%d+ %S+ (.*)$')
  if waiting == member then redis.call('DEL', key) end
end
