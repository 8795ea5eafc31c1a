#!lua flags=no-writes
-- Reads the due members of `retry` and `schedule`, earliest first: up to the limits of number and bytes, but at least one.
--
-- ARGV     offset of the clock in ms, limit, max bytes
-- Result   now in ms, a string with the set of each member ("r" for `retry`, "s" for `schedule`), then the members
-- O(N + log M) for N of M members

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local till = string.format('%.3f', now / 1000)
local limit, left = tonumber(ARGV[2]), tonumber(ARGV[3])

-- Reads members of a set in pages that grow, because their sizes are unknown.
local function reader(set)
  local page, i, offset, count = {}, 1, 0, 1
  local function head()
    if i > #page and count > 0 then
      page = call('ZRANGE', set, '-inf', till, 'BYSCORE', 'LIMIT', offset, count, 'WITHSCORES')
      i, offset = 1, offset + count
      count = #page < 2 * count and 0 or math.min(2 * count, 64)
    end
    return page[i], tonumber(page[i + 1])
  end
  return { head = head, next = function() i = i + 2 end }
end

local retry, schedule = reader('retry'), reader('schedule')
local sets, result = {}, { now, '' }
while #sets < limit do
  local member, score = retry.head()
  local other, otherScore = schedule.head()
  local from = 'r'
  if not member or other and otherScore < score then member, from = other, 's' end
  if not member or #sets > 0 and #member > left then break end
  left = left - #member
  sets[#sets + 1] = from
  result[#result + 1] = member
  if from == 'r' then retry.next() else schedule.next() end
end
result[2] = table.concat(sets)
return result
