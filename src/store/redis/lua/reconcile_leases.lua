#!lua flags=allow-oom
-- Returns leases to their queues that their worker has settled, and that the server has again: it lost its latest writes in a
-- crash, or a replica that lagged took its place. See lease_book.ts.
--
-- KEYS[1]  jobs:leases:WORKER
-- ARGV     prefix of the names of this worker's takes (8 hex digits),
--          number of unanswered takes, their names, then the tokens that the worker holds
-- Result   how many were returned
-- O(N log N) for N leases

local call = redis.call
local first = 3 + ARGV[2]
local known = {}
for i = first, #ARGV do known[ARGV[i]] = true end
local unanswered = {}
for i = 3, first - 1 do unanswered[ARGV[i]] = true end

checkCancelled(KEYS[1])
local tokens = {}
for _, token in ipairs(call('HKEYS', KEYS[1])) do
  if string.sub(token, 12, 19) == ARGV[1] and not known[token] and not unanswered[string.sub(token, 12, 27)] then
    checkQueue(placeIn(token))
    tokens[#tokens + 1] = token
  end
end
-- Youngest first, so that the oldest ends at the very front: the right end.
table.sort(tokens)
for i = #tokens, 1, -1 do
  returnLease(KEYS[1], tokens[i], call('HGET', KEYS[1], tokens[i]))
end
return #tokens
