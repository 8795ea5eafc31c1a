-- Included: adds a member to a set, at a time in ms. Where one alike is there, down to the last byte, a space more makes
-- it another member of the same job: the set would take the two for one.
local function add(set, at, payload)
  while redis.call('ZADD', set, 'NX', string.format('%.3f', at / 1000), payload) == 0 do payload = payload .. ' ' end
end
