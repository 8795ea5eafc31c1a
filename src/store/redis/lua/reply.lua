#!lua
-- Stores the reply to a command for a minute.
--
-- KEYS[1]  jobs:reply:ID
-- ARGV     offset of the clock in ms, text
-- Result   nothing
-- O(1)

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
-- The time in the value counts. Redis only deletes the key.
call('LPUSH', KEYS[1], string.format('%d ', now + 60000) .. ARGV[2])
call('EXPIRE', KEYS[1], 60)
