#!lua flags=allow-oom
-- Adds to the running totals and to those of today (UTC).
--
-- ARGV     offset of the clock in ms, jobs finished, how many of them failed
-- Result   nothing
-- O(1)

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]

-- The civil date of a day number, by counting in eras of 400 years that begin on 1 March.
local days = math.floor(now / 86400000) + 719468
local era = math.floor(days / 146097)
local dayOfEra = days - era * 146097
local yearOfEra = math.floor(
  (dayOfEra - math.floor(dayOfEra / 1460) + math.floor(dayOfEra / 36524) - math.floor(dayOfEra / 146096)) / 365)
local dayOfYear = dayOfEra - (365 * yearOfEra + math.floor(yearOfEra / 4) - math.floor(yearOfEra / 100))
local monthFromMarch = math.floor((5 * dayOfYear + 2) / 153)
local day = dayOfYear - math.floor((153 * monthFromMarch + 2) / 5) + 1
local month = monthFromMarch < 10 and monthFromMarch + 3 or monthFromMarch - 9
local year = yearOfEra + era * 400 + (month <= 2 and 1 or 0)
local date = string.format('%04d-%02d-%02d', year, month, day)

for i, name in ipairs({ 'processed', 'failed' }) do
  local count = ARGV[i + 1]
  if count ~= '0' then
    call('INCRBY', 'stat:' .. name, count)
    call('INCRBY', 'stat:' .. name .. ':' .. date, count)
    call('EXPIRE', 'stat:' .. name .. ':' .. date, 157680000)
  end
end
