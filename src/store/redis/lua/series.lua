--- script recordMetrics
-- Adds to the metrics of classes: to Sidekiq's hashes of counts, to its histograms (bit fields of 26 16-bit numbers, which
-- saturate), and to our histograms of ten minutes, which Sidekiq doesn't have.
--
-- KEYS     our histograms, hash of ten minutes, hash of the minute, and unless the wire format is 8 the hash of the minute
--          under Sidekiq 7's name
-- ARGV     s to keep ten minutes, s to keep a minute, then per class: name, processed, failed, ms, key of its histogram,
--          the same under Sidekiq 7's name or "", counts: "bucket count bucket count …"
-- O(C) for C classes

local call = redis.call
local coarse, fine = ARGV[1], ARGV[2]
-- Fail on a key of the wrong type before anything is written.
for i = 1, #KEYS do call('HLEN', KEYS[i]) end
for at = 3, #ARGV, 7 do
  local name = ARGV[at]
  for i = 2, #KEYS do
    call('HINCRBY', KEYS[i], name .. '|p', ARGV[at + 1])
    if ARGV[at + 2] ~= '0' then call('HINCRBY', KEYS[i], name .. '|f', ARGV[at + 2]) end
    call('HINCRBY', KEYS[i], name .. '|ms', ARGV[at + 3])
  end
  local field = {'OVERFLOW', 'SAT'}
  for bucket, count in string.gmatch(ARGV[at + 6], '(%d+) (%d+)') do
    call('HINCRBY', KEYS[1], bucket .. '|' .. name, count)
    for _, word in ipairs({'INCRBY', 'u16', '#' .. bucket, count}) do field[#field + 1] = word end
  end
  for i = at + 4, at + 5 do
    if ARGV[i] ~= '' and #field > 2 then
      -- A key of another type keeps its value and its TTL.
      local written = redis.pcall('BITFIELD', ARGV[i], unpack(field))
      if not written.err then call('EXPIRE', ARGV[i], fine) end
    end
  end
end
for i = 1, #KEYS do call('EXPIRE', KEYS[i], i <= 2 and coarse or fine) end
return 1

--- script sampleQueues
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
