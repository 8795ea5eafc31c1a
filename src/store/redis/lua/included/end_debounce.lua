-- Included after job.lua: forgets that a member of `schedule` waits for a debounce key, as it has left the set.
local function endDebounce(member)
  local job = jobWith(member, 'debounce_key"')
  if not job or type(job.debounce_key) ~= 'string' then return end
  local key = 'jobs:debounce:' .. job.debounce_key
  -- The record names the whole member.
  local waiting = string.match(redis.call('GET', key) or '', '^%d+ %S+ (.*)$')
  if waiting == member then redis.call('DEL', key) end
end
