#!lua
-- Ends the sleeps and waits of a job as if their time had passed, and makes it due.
--
-- KEYS[1]  jobs:steps:JID
-- ARGV     offset of the clock in ms, jid
-- Result   how many it ended
-- O(N) for N steps of the job

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local ended = 0
local rows = call('HGETALL', KEYS[1])
for i = 1, #rows, 2 do
  if string.match(rows[i + 1], WAITING) then
    passWait(now, ARGV[2], rows[i], rows[i + 1])
    ended = ended + 1
  end
end
if ended > 0 then makeDue(now, ARGV[2]) end
return ended
