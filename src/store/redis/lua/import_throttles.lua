#!lua
-- Imports throttles of another store. A throttle that counts pushes here keeps them.
--
-- ARGV     offset of the clock in ms,
--          then per throttle: key, its time in ms, number of pushes, per push, the latest first: ms since then, jid
-- O(N) for N pushes

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]

local i = 2
while i <= #ARGV do
  local list, per, last = 'jobs:throttle:' .. ARGV[i], ARGV[i + 1], i + 2 + 2 * ARGV[i + 2]
  local left = math.ceil(per - ARGV[i + 3])
  if left > 0 and call('EXISTS', list) == 0 then
    local lines = {}
    for k = i + 3, last, 2 do
      lines[#lines + 1] = string.format('%d', now - ARGV[k]) .. ' ' .. ARGV[k + 1]
      -- Lua limits the number of arguments of a call.
      if #lines == 1000 or k + 1 == last then
        call('RPUSH', list, unpack(lines))
        lines = {}
      end
    end
    call('PEXPIRE', list, left)
  end
  i = last + 1
end
