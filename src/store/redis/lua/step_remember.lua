#!lua
-- Writes steps of jobs under their leases, except those that have succeeded already.
--
-- KEYS[1]  jobs:leases:WORKER
-- KEYS     per step: jobs:steps:JID
-- ARGV     per step: token, name, record
-- Result   per step that was not written: place (from 1), and the stored record of a step that had succeeded, or false if the
--          worker has lost the lease
-- O(N) for N steps

local call = redis.call
local result = {}
local function reject(place, record)
  result[#result + 1] = place
  result[#result + 1] = record
end
for place = 1, #KEYS - 1 do
  local key = KEYS[place + 1]
  local token, name, record = ARGV[3 * place - 2], ARGV[3 * place - 1], ARGV[3 * place]
  if call('HEXISTS', KEYS[1], token) == 0 then
    reject(place, false)
  elseif call('HSETNX', key, name, record) == 0 then
    local present = call('HGET', key, name)
    if string.sub(present, 1, 21) == '{"state":"succeeded",' then
      reject(place, present)
    else
      call('HSET', key, name, record)
    end
  end
end
return result
