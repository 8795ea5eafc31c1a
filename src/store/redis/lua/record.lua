#!lua flags=allow-oom
-- Keeps the record of a job that has ended; where it waits, it is deleted.
--
-- ARGV     offset of the clock in ms, most records, jid, time to live in ms ("" for ever), body,
--          then of one that is to be deleted: key it is in (queue:NAME, or a set), member as it is there,
--            jid whose unique lock is let go ("" for none)
-- Result   1, or 0 when that one was gone: then nothing is kept
-- O(log N) for N records, and O(log M) for a set of M members, O(M) for a queue of M jobs (from its front)

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local from, old, waits = ARGV[6], ARGV[7], ARGV[8]

-- A key of the wrong type must stop us before anything is written.
redis.call('ZCARD', 'jobs:ended')

if from then
  local gone
  if string.sub(from, 1, 6) == 'queue:' then
    gone = redis.call('LREM', from, -1, old) == 0
  else
    gone = redis.call('ZREM', from, old) == 0
  end
  if gone then return 0 end
  if waits ~= '' then
    unlock(waits)
    endLive(waits)
  end
end
keepRecord(now, ARGV[2], ARGV[3], ARGV[4], ARGV[5])
return 1
