-- Included: a job with steps goes to sleep until a time in ms. Returns that time; now, if a wait has ended meanwhile.
local function asleep(now, jid, at)
  local call = redis.call
  local steps = 'jobs:steps:' .. jid
  if call('EXISTS', steps) == 0 then return at end
  if call('HGET', steps, '') == 'wake' then
    call('HDEL', steps, '')
    return now
  end
  call('HSET', steps, '', string.format('%.3f', at / 1000))
  return at
end
