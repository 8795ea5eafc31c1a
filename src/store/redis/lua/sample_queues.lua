#!lua
-- Records a sample of queues: each time step keeps the largest value of each field.
--
-- KEYS     one hash per step length
-- ARGV     s to keep each of the hashes, then field, value, field, value …
-- O(K·F) for K hashes and F fields

local call = redis.call
-- Fail on a key of the wrong type before anything is written.
for i = 1, #KEYS do call('HLEN', KEYS[i]) end
for i = 1, #KEYS do
  for at = #KEYS + 1, #ARGV, 2 do
    local before = tonumber(call('HGET', KEYS[i], ARGV[at]) or '-1') or -1
    if tonumber(ARGV[at + 1]) > before then call('HSET', KEYS[i], ARGV[at], ARGV[at + 1]) end
  end
  call('EXPIRE', KEYS[i], ARGV[i])
end
return 1
