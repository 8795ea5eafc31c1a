-- Included: forgets that a member of `schedule` waits for a debounce key, as it has left the set.
local function endDebounce(member)
  if not string.find(member, '"debounce_key":"', 1, true) then return end
  local key = 'jobs:debounce:' .. string.match(member, '"debounce_key":"([%w_-]*)"')
  -- Arguments may contain the same text. The record names the whole member.
  local waiting = string.match(redis.call('GET', key) or '', '^%d+ %S+ (.*)$')
  if waiting == member then redis.call('DEL', key) end
end
