-- Included: releases a job's unique lock, if it has one.
local function unlock(jid)
  local call = redis.call
  local key = call('GET', 'jobs:unique-of:' .. jid)
  if not key then return end
  call('DEL', 'jobs:unique-of:' .. jid)
  key = 'jobs:unique:' .. key
  if string.match(call('GET', key) or '', '^%d+ (.*)$') == jid then call('DEL', key) end
end
