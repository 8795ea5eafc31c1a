#!lua flags=allow-oom
-- Counts a member that was pushed without being counted, and marks its payload. Sent again, it returns the same.
--
-- KEYS[1]  jobs:leases:WORKER
-- ARGV     offset of the clock in ms, token, id of the batch
-- Result   its new payload; false if the lease is lost, or the batch accepts no members
-- O(N) for a payload of N bytes

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local payload = call('HGET', KEYS[1], ARGV[2])
if not payload then return false end
if memberOf(payload) then return payload end
local members = string.match(payload, '^(.*)}%s*$')
if not members or refusalOf(ARGV[3], '', '', true) then return false end
payload = members .. ',"batch_counted":"pending"}'
call('HSET', KEYS[1], ARGV[2], payload)
noteMember(ARGV[3], '', 'pending')
countMembers(now)
return payload
