#!lua
-- Adds to what was measured of classes: to Sidekiq's hashes of counts, to its histograms (bit fields of 26 16-bit
-- numbers, which stay at their greatest), and to our own histograms by ten minutes, which Sidekiq has not.
--
-- KEYS     our histograms, hash of ten minutes, hash of the minute, hash of the minute as Sidekiq 7 names it or nothing
-- ARGV     s to keep ten minutes, s to keep a minute, then for each class: name, processed, failed, ms,
--          key of its histogram, the same as Sidekiq 7 names it or "", counts: "bucket count bucket count …"
-- O(C) for C classes

local call = redis.call
local coarse, fine = ARGV[1], ARGV[2]
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
      -- A key that is something else stays what it is, for as long as it was to stay.
      local written = redis.pcall('BITFIELD', ARGV[i], unpack(field))
      if not written.err then call('EXPIRE', ARGV[i], fine) end
    end
  end
end
for i = 1, #KEYS do call('EXPIRE', KEYS[i], i <= 2 and coarse or fine) end
return 1
