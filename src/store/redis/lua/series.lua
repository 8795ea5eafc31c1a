--- script recordMetrics(; coarseS, fineS, classes[name, processed, failed, ms, histogram, olderHistogram, counts])
-- Adds to the metrics of classes: to Sidekiq's hashes of counts, to its histograms (bit fields of 26 16-bit numbers, which
-- saturate), and to our histograms of ten minutes, which Sidekiq doesn't have.
--
-- KEYS     our histograms, hash of ten minutes, hash of the minute, and unless the wire format is 8 the hash of the minute
--           under Sidekiq 7's name
-- coarseS, fineS  how long to keep ten minutes, and a minute
-- classes  histogram: its key; olderHistogram: that under Sidekiq 7's name, or ""; counts: "bucket count bucket count …"
-- O(C) for C classes

local call = redis.call
-- Fail on a key of the wrong type before anything is written.
for i = 1, #KEYS do call('HLEN', KEYS[i]) end
for _, class in ipairs(classes) do
  local name = class.name
  for i = 2, #KEYS do
    call('HINCRBY', KEYS[i], name .. '|p', class.processed)
    if class.failed ~= '0' then call('HINCRBY', KEYS[i], name .. '|f', class.failed) end
    call('HINCRBY', KEYS[i], name .. '|ms', class.ms)
  end
  local field = {'OVERFLOW', 'SAT'}
  for bucket, count in string.gmatch(class.counts, '(%d+) (%d+)') do
    call('HINCRBY', KEYS[1], bucket .. '|' .. name, count)
    for _, word in ipairs({'INCRBY', 'u16', '#' .. bucket, count}) do field[#field + 1] = word end
  end
  for _, key in ipairs({ class.histogram, class.olderHistogram }) do
    if key ~= '' and #field > 2 then
      -- A key of another type keeps its value and its TTL.
      local written = redis.pcall('BITFIELD', key, unpack(field))
      if not written.err then call('EXPIRE', key, fineS) end
    end
  end
end
for i = 1, #KEYS do call('EXPIRE', KEYS[i], i <= 2 and coarseS or fineS) end
return 1

--- script sampleQueues(; samples[field, value], keepS[])
-- Records a sample of queues: each time step keeps the largest value of each field.
--
-- KEYS     one hash per step length
-- keepS    how long to keep each of the hashes
-- O(K·F) for K hashes and F fields

local call = redis.call
-- Fail on a key of the wrong type before anything is written.
for i = 1, #KEYS do call('HLEN', KEYS[i]) end
for i = 1, #KEYS do
  for _, sample in ipairs(samples) do
    local before = tonumber(call('HGET', KEYS[i], sample.field) or '-1') or -1
    if tonumber(sample.value) > before then call('HSET', KEYS[i], sample.field, sample.value) end
  end
  call('EXPIRE', KEYS[i], keepS[i])
end
return 1
