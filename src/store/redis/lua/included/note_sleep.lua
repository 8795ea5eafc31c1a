-- Included: notes that a job with steps sleeps until a time in ms. Returns that time, or now if a wait ended while the job ran.
local function noteSleep(now, jid, at)
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
