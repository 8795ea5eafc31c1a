#!lua
-- Ends the oldest wait for a key, and makes its job due; with none, the signal is kept. Sent again because its answer was
-- lost, it does nothing, and answers the same.
--
-- KEYS[1]  jobs:signalled:ID, the answer to this signal
-- ARGV     offset of the clock in ms, for how many ms to remember the answer, key, data (JSON), for how many ms to keep it,
--          most signals that a key keeps
-- Result   jid of the job that it reached; "" if it is kept; false if the key keeps too many
-- O(N) for N waits for the key that have ended otherwise

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local key, data, ttl = ARGV[3], ARGV[4], tonumber(ARGV[5])

local answered = call('GET', KEYS[1])
if answered then return answered end

local waiter = call('LPOP', 'jobs:waiting:' .. key)
while waiter do
  local jid, name = string.match(waiter, '^(%S+) (.*)$')
  if answerStep(now, jid, name, '"value":' .. data, 'done') then
    call('SET', KEYS[1], jid, 'PX', ARGV[2])
    return jid
  end
  waiter = call('LPOP', 'jobs:waiting:' .. key)
end

local kept = 'jobs:signals:' .. key
if call('LLEN', kept) >= tonumber(ARGV[6]) then return false end
call('RPUSH', kept, string.format('%.0f ', now + ttl) .. data)
if call('PTTL', kept) < ttl then call('PEXPIRE', kept, string.format('%.0f', ttl + 60000)) end
call('SET', KEYS[1], '', 'PX', ARGV[2])
return ''
