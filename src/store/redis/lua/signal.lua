#!lua
-- Ends the oldest wait for a key, and makes its job due. Keeps the signal if no job waits. Sent again because its reply was
-- lost, it does nothing, and returns the same.
--
-- KEYS[1]  jobs:signalled:ID, the result of this signal
-- ARGV     offset of the clock in ms, ms to keep that result, key, data (JSON), ms to keep the signal, max signals per key
-- Result   jid of the job that received it; "" if it is kept; false if the key keeps too many; 0 to run it again, because the key has
--          further waits of jobs that have ended
-- O(N log M) for N of M waits for the key whose jobs have ended, at most 1,000

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local key, data, ttl = ARGV[3], ARGV[4], tonumber(ARGV[5])

local earlier = call('GET', KEYS[1])
if earlier then return earlier end

-- Fail on a key of the wrong type before anything is written.
local kept, waiters = 'jobs:signals:' .. key, 'jobs:waiting:' .. key
call('LLEN', kept)
local waiting = call('ZRANGE', waiters, 0, 999)
for _, waiter in ipairs(waiting) do
  local jid, name = waiterIn(waiter)
  local isReached = jid and finishWait(now, jid, name, '"value":' .. data, 'succeeded')
  call('ZREM', waiters, waiter)
  if isReached then
    call('SET', KEYS[1], jid, 'PX', ARGV[2])
    return jid
  end
end
if #waiting == 1000 then return 0 end

if call('LLEN', kept) >= tonumber(ARGV[6]) then return false end
call('RPUSH', kept, string.format('%.0f ', now + ttl) .. data)
if call('PTTL', kept) < ttl then call('PEXPIRE', kept, string.format('%.0f', ttl + 60000)) end
call('SET', KEYS[1], '', 'PX', ARGV[2])
return ''
