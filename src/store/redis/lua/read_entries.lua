#!lua flags=no-writes
-- Reads consecutive entries of a queue or a set, in either direction: up to the limits of number and bytes, but at least one,
-- and the one after those that fit.
--
-- ARGV     key, "queue" or "set", position of the first (in a queue from its front, the right end), limit, max bytes,
--          "forward" or "reverse"
-- Result   position of the first; 1 if the last one exceeds the bytes, else 0; then the payloads, in a set each with its score
-- O(N + log M) for N of M entries of a set, O(N + distance from the nearer end) for those of a queue

local call = redis.call
local key, isQueue, reverse = ARGV[1], ARGV[2] == 'queue', ARGV[6] == 'reverse'
local position, left, bytes = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
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
