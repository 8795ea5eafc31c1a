#!lua
-- Imports the steps of a job of another store, except those that exist already. A wait that has ended there since it was first
-- imported ends here, too.
--
-- KEYS[1]  jobs:steps:JID
-- ARGV     offset of the clock in ms, jid, per step: name, record
-- O(N) for N steps

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
for i = 3, #ARGV, 2 do
  local name, record = ARGV[i], ARGV[i + 1]
  local waits = string.match(record, WAITING)
  local present = call('HGET', KEYS[1], name)
  if not present or not waits and string.match(present, WAITING) then
    if present and not waits then
      leaveWaiting(ARGV[2], name, present)
      apart(uncountWait, present)
    end
    call('HSET', KEYS[1], name, record)
    if waits then apart(countWait, now, record) end
    local key = waits and recordIn(record).key
    if type(key) == 'string' then apart(joinWaiting, now, ARGV[2], name, key, math.max(0, waits - now)) end
  end
end
