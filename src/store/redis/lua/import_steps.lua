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
    if present and not waits then uncountWait(present) end
    call('HSET', KEYS[1], name, record)
    if waits then countWait(now, record) end
    local key = waits and cjson.decode(record).key
    if key then
      local waiters = 'jobs:waiting:' .. key
      call('RPUSH', waiters, ARGV[2] .. ' ' .. name)
      local ttl = string.format('%.0f', math.max(0, waits - now) + 86400000)
      if call('PTTL', waiters) < tonumber(ttl) then call('PEXPIRE', waiters, ttl) end
    end
  end
end
