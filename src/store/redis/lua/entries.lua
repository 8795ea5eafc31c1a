--- script readEntries(; key, isQueue, position, limit, maxBytes, reverse) no-writes
-- Reads consecutive entries of a queue or a set, in either direction: up to the limits of number and bytes, but at least one,
-- and the one after those that fit.
--
-- isQueue  "1", or "" for a set
-- position that of the first, in a queue from its front, the right end
-- reverse  "1", or ""
-- Result   position of the first; 1 if the last one exceeds the bytes, else 0; then the payloads, in a set each with its score
-- O(N + log M) for N of M entries of a set, O(N + distance from the nearer end) for those of a queue

local call = redis.call
isQueue, reverse = isQueue == '1', reverse == '1'
local left, bytes = tonumber(limit), tonumber(maxBytes)
position = tonumber(position)
local width = isQueue and 1 or 2
if reverse then
  -- Entries may have left since the position was computed.
  position = math.min(position, (isQueue and call('LLEN', key) or call('ZCARD', key)) - 1)
  left = math.min(left, position + 1)
end

-- Returns `count` entries from a position on, and whether they are in reverse order.
local function read(first, count)
  if reverse then first = first - count + 1 end
  if isQueue then return call('LRANGE', key, -first - count, -first - 1), not reverse end
  return call('ZRANGE', key, first, first + count - 1, 'WITHSCORES'), reverse
end

local result = { position, 0 }
-- How many are read at once. The number grows, because their sizes are unknown.
local count = 1
while left > 0 do
  local wanted = math.min(count, left)
  local page, turned = read(position, wanted)
  for i = 1, #page, width do
    local k = turned and #page - i - width + 2 or i
    if #result > 2 and #page[k] > bytes then result[2] = 1 end
    bytes = bytes - #page[k]
    result[#result + 1] = page[k]
    if not isQueue then result[#result + 1] = page[k + 1] end
    if result[2] == 1 then return result end
  end
  if #page < width * wanted then break end
  position = reverse and position - wanted or position + wanted
  left = left - wanted
  count = math.min(2 * count, 64)
end
return result

--- script readDue(; now, limit, maxBytes) no-writes
-- Reads the due members of `retry` and `schedule`, earliest first: up to the limits of number and bytes, but at least one.
--
-- Result   now in ms, a string with the set of each member ("r" for `retry`, "s" for `schedule`), then the members
-- O(N + log M) for N of M members

local call = redis.call
local till = string.format('%.3f', now / 1000)
local left = tonumber(maxBytes)
limit = tonumber(limit)

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
