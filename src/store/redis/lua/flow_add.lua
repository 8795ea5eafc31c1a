#!lua
-- Stores nodes of an open flow. Sent again because its reply was lost, it changes nothing.
--
-- ARGV     offset of the clock in ms, id,
--          per node: name, how many nodes it waits for, its job (JSON), names after it (JSON), payload without its brace
-- Result   "", or why the flow accepts no nodes
-- O(N) for N nodes

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local id = ARGV[2]
local key = 'jobs:flow:' .. id
-- Fail on a key of the wrong type before anything is written.
call('HLEN', key)
call('LLEN', key .. ':nodes')
call('LLEN', key .. ':roots')
local refusal = refusalOf(id, '', '')
if refusal then return refusal end
for i = 3, #ARGV, 5 do
  local name, needs, spec, followers, payload = unpack(ARGV, i, i + 4)
  if call('HSETNX', key, 's:' .. name, string.format('waiting %.0f', now)) == 1 then
    call('HSET', key, 'n:' .. name, needs, 'j:' .. name, spec, 'f:' .. name, followers, 'p:' .. name, payload)
    call('RPUSH', key .. ':nodes', name)
    if needs == '0' then call('RPUSH', key .. ':roots', name) end
    noteMember(id, '', 'pending')
    noteWaiting(id, 1)
  end
end
apart(countMembers, now)
return ''
