#!lua
-- Imports the steps of a job of another store, except those that exist already.
--
-- KEYS[1]  jobs:steps:JID
-- ARGV     offset of the clock in ms, jid, its due time in `schedule` in ms ("" if it is elsewhere),
--          per step: name, record
-- O(N) for N steps

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
for i = 4, #ARGV, 2 do
  local name, record = ARGV[i], ARGV[i + 1]
  if call('HSETNX', KEYS[1], name, record) == 1 and string.match(record, WAITING) then
    local step = cjson.decode(record)
    if step.key then
      local waiters = 'jobs:waiting:' .. step.key
      call('RPUSH', waiters, ARGV[2] .. ' ' .. name)
      local ttl = string.format('%.0f', math.max(0, step['until'] - now) + 86400000)
      if call('PTTL', waiters) < tonumber(ttl) then call('PEXPIRE', waiters, ttl) end
    end
  end
end
if ARGV[3] ~= '' then call('HSETNX', KEYS[1], '', string.format('%.3f', ARGV[3] / 1000)) end
