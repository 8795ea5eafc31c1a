#!lua
-- Imports nodes unchanged. Sent again, it changes nothing.
--
-- KEYS[1]  jobs:flow:ID
-- ARGV     per node: name, how many nodes it waits for, its job (JSON), names after it (JSON), "STATE MS", the effect of its end
--          ("" for none), payload ("" for none), result ("" for none)
-- O(N) for N nodes

local call = redis.call
-- Fail on a key of the wrong type before anything is written.
call('LLEN', KEYS[1] .. ':nodes')
call('LLEN', KEYS[1] .. ':roots')
for i = 1, #ARGV, 8 do
  local name, needs, spec, followers, state, effect, payload, result = unpack(ARGV, i, i + 7)
  if call('HSETNX', KEYS[1], 's:' .. name, state) == 1 then
    call('HSET', KEYS[1], 'n:' .. name, needs, 'j:' .. name, spec, 'f:' .. name, followers)
    if effect ~= '' then call('HSET', KEYS[1], 'x:' .. name, effect) end
    if payload ~= '' then call('HSET', KEYS[1], 'p:' .. name, payload) end
    if result ~= '' then call('HSET', KEYS[1], 'r:' .. name, result) end
    call('RPUSH', KEYS[1] .. ':nodes', name)
    if needs == '0' then call('RPUSH', KEYS[1] .. ':roots', name) end
  end
end
return 0
