-- Included: adds to the overall total, and to that of the day (UTC).
local function countTotals(now, name, more)
  if more == 0 then return end
  -- The civil date of a day number, counted in eras of 400 years that begin on 1 March.
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

  local total = 'stat:' .. name
  local daily = string.format('%s:%04d-%02d-%02d', total, year, month, day)
  redis.call('INCRBY', total, more)
  redis.call('INCRBY', daily, more)
  redis.call('EXPIRE', daily, 157680000)
end
