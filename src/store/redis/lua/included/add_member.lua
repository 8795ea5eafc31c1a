-- Included: adds a member to a set, at a time in ms. A set keeps one of two byte-identical members, so each further one gets
-- white space at its end, which makes it a different member with the same payload. Returns the member.
local endings = {}
local function addMember(set, at, payload)
  local score = string.format('%.3f', at / 1000)
  if redis.call('ZADD', set, 'NX', score, payload) == 1 then return payload end

  -- The n-th ending is n in base 3 without a zero digit, so that endings stay short.
  local digits = { ' ', '\t', '\n' }
  local function nth(n)
    local ending = ''
    while n > 0 do
      local digit = (n - 1) % 3 + 1
      ending = digits[digit] .. ending
      n = (n - digit) / 3
    end
    return payload .. ending
  end
  local function isFree(n) return not redis.call('ZSCORE', set, nth(n)) end

  -- The number of the ending that this script used last for this member.
  endings[set] = endings[set] or {}
  local taken = endings[set][payload] or 0
  local free = taken + 1
  while not isFree(free) do taken, free = free, 2 * free end
  while free - taken > 1 do
    local middle = math.floor((taken + free) / 2)
    if isFree(middle) then free = middle else taken = middle end
  end
  redis.call('ZADD', set, 'NX', score, nth(free))
  endings[set][payload] = free
  return nth(free)
end
