-- Keeps the record of a job that has ended; stands inside of other scripts.
-- now: the store's time in ms; most: how many are kept; ttl: in ms, "" for as long as there is room
local function keepRecord(now, most, jid, ttl, body)
  local key = 'jobs:result:' .. jid
  if ttl == '' then
    redis.call('SET', key, ' ' .. body)
  else
    redis.call('SET', key, string.format('%.0f', now + ttl) .. ' ' .. body, 'PX', ttl)
  end
  redis.call('ZADD', 'jobs:ended', redis.call('INCR', 'jobs:ended:number'), jid)
  for _, old in ipairs(redis.call('ZRANGE', 'jobs:ended', 0, -most - 1)) do
    redis.call('DEL', 'jobs:result:' .. old)
    redis.call('ZREM', 'jobs:ended', old)
  end
  -- Those whose time is over are swept up a few at a time, from the oldest on.
  for _, old in ipairs(redis.call('ZRANGE', 'jobs:ended', 0, 2)) do
    if redis.call('EXISTS', 'jobs:result:' .. old) == 0 then redis.call('ZREM', 'jobs:ended', old) end
  end
  redis.pcall('PUBLISH', 'jobs:results', jid)
end
