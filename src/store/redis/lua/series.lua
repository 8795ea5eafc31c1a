--- script recordMetrics(own, coarse, fine[]; coarseS, fineS, classes[name, processed, failed, ms, histogram, olderHistogram, counts])
-- Adds to the metrics of classes: to Sidekiq's hashes of counts, to its histograms (bit fields of 26 16-bit numbers, which
-- saturate), and to our histograms of ten minutes, which Sidekiq doesn't have.
--
-- own      our histograms
-- coarse   hash of ten minutes
-- fine     hash of the minute, and unless the wire format is 8 the same under Sidekiq 7's name
-- coarseS, fineS  how long to keep ten minutes, and a minute
-- classes  histogram: its key; olderHistogram: that under Sidekiq 7's name, or ""; counts: "bucket count bucket count …"
-- O(C) for C classes

local call = redis.call
-- Fail on a key of the wrong type before anything is written.
local counted = { coarse, unpack(fine) }
for _, key in ipairs({ own, unpack(counted) }) do call('HLEN', key) end
for _, class in ipairs(classes) do
  local name = class.name
  for _, key in ipairs(counted) do
    call('HINCRBY', key, name .. '|p', class.processed)
    if class.failed ~= '0' then call('HINCRBY', key, name .. '|f', class.failed) end
    call('HINCRBY', key, name .. '|ms', class.ms)
  end
  local field = {'OVERFLOW', 'SAT'}
  for bucket, count in string.gmatch(class.counts, '(%d+) (%d+)') do
    call('HINCRBY', own, bucket .. '|' .. name, count)
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
for _, key in ipairs({ own, coarse }) do call('EXPIRE', key, coarseS) end
for _, key in ipairs(fine) do call('EXPIRE', key, fineS) end
return 1

--- script sampleQueues(hashes[]; samples[field, value], keepS[])
-- Records a sample of queues: each time step keeps the largest value of each field.
--
-- hashes   one per step length
-- keepS    how long to keep each of the hashes
-- O(K·F) for K hashes and F fields

local call = redis.call
-- Fail on a key of the wrong type before anything is written.
for _, key in ipairs(hashes) do call('HLEN', key) end
for i, key in ipairs(hashes) do
  for _, sample in ipairs(samples) do
    local before = tonumber(call('HGET', key, sample.field) or '-1') or -1
    if tonumber(sample.value) > before then call('HSET', key, sample.field, sample.value) end
  end
  call('EXPIRE', key, keepS[i])
end
return 1
