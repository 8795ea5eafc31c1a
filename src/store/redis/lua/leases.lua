--- script stillLeased no-writes
-- Reads which leases a worker still has.
--
-- KEYS[1]  jobs:leases:WORKER
-- ARGV     tokens
-- Result   those of them that have a lease
-- O(N) for N tokens

local held = {}
for _, token in ipairs(ARGV) do
  if redis.call('HEXISTS', KEYS[1], token) == 1 then held[#held + 1] = token end
end
return held

--- script readLeases no-writes
-- Reads the leases with these tokens, up to the limit of bytes.
--
-- KEYS[1]  jobs:leases:WORKER
-- ARGV     max bytes, "1" to read at least one, then tokens
-- Result   the payloads of the first tokens, false for a lease that has ended
-- O(N) for N leases

local bytes = tonumber(ARGV[1])
local result = {}
for i = 3, #ARGV do
  local size = redis.call('HSTRLEN', KEYS[1], ARGV[i])
  if size > bytes and (#result > 0 or ARGV[2] ~= '1') then break end
  bytes = bytes - size
  result[#result + 1] = redis.call('HGET', KEYS[1], ARGV[i])
end
return result

--- part returnLease: job groups
-- The end of a lease without an outcome.

-- Texts of jids that are looked up before the payload is parsed.
local MAX_JIDS = 20

-- Returns whether a job may have steps. Arguments may contain the text of another jid, and a mark too many does no harm, so that
-- no payload is parsed but one with many of them, or with an escaped one.
local function mayHaveSteps(payload)
  local function exist(jid) return redis.call('EXISTS', 'jobs:steps:' .. jid) == 1 end
  local from = 1
  for _ = 1, MAX_JIDS do
    local _, at = string.find(payload, 'jid"', from, true)
    if not at then return false end
    local jid = string.match(payload, '^%s*:%s*"([^"]*)"', at + 1)
    if jid and string.find(jid, '\\', 1, true) then break end
    if jid and exist(jid) then return true end
    from = at + 1
  end
  local fine, job = pcall(cjson.decode, payload)
  return fine and type(job) == 'table' and type(job.jid) == 'string' and exist(job.jid)
end

-- Returns a payload with the mark of a job with steps, if it may have any: a worker that retries such a job, or lets it sleep,
-- marks the payload that it stores.
local function markSteps(payload)
  if not mayHaveSteps(payload) then return payload end
  local job = jobWith(payload, 'has_steps"')
  if job and job.has_steps and job.has_steps ~= cjson.null then return payload end
  local members = string.match(payload, '^(.*)}%s*$')
  return members and members .. ',"has_steps":true}' or payload
end

-- Returns the name of the queue or group of a lease. A token that another program wrote may have none.
local function placeIn(token) return string.match(token, ':(.+)$') or 'default' end

-- Fails on a key of the wrong type that returnLease uses for cancelled jobs. Call it before the first write.
local function checkCancelled(leases)
  redis.call('SCARD', 'jobs:cancelled:' .. string.sub(leases, 13))
  redis.call('HLEN', 'jobs:leases:cancelled')
  redis.call('ZCARD', 'jobs:workers')
end

-- Returns a leased job to the front of its queue or group. Call it for the youngest of several first, so that the oldest ends
-- at the very front: the right end. Returns the payload as it is stored. The lease ends only then: a job whose queue can't be
-- written keeps it.
--
-- The lease of a cancelled job (`send`) passes to the worker ID "cancelled", which is always offline, so that the next
-- rescue ends the job. Returns nil then.
local function returnLease(leases, token, payload)
  local name = placeIn(token)
  payload = markSteps(payload)
  local isCancelled = redis.call('SREM', 'jobs:cancelled:' .. string.sub(leases, 13), token) == 1
  if isCancelled then
    redis.call('HSET', 'jobs:leases:cancelled', token, payload)
    redis.call('ZADD', 'jobs:workers', 0, 'cancelled')
  else
    redis.call('RPUSH', 'queue:' .. name, payload)
  end
  redis.call('HDEL', leases, token)
  if not isCancelled then apart(notePush, name, 1) end
  if groupIn(name) then
    apart(redis.call, 'HDEL', 'jobs:running:' .. name, token)
    apart(wakeGroup, name)
  end
  if not isCancelled then return payload end
end

--- script reconcileLeases allow-oom: returnLease groups
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

--- script countLeases allow-oom
-- Counts leases of a queue's groups against the limits of these groups, or stops counting them if the queue has no limits for
-- groups. `take` counts later leases.
--
-- KEYS[1]  jobs:leases:WORKER
-- ARGV     worker ID, queue, then tokens of its groups
-- O(N) for N leases

local call = redis.call
local isLimited = call('EXISTS', 'jobs:groups:limits:' .. ARGV[2]) == 1
for i = 3, #ARGV do
  local running = 'jobs:running:' .. string.match(ARGV[i], ':(.*)$')
  if isLimited and call('HEXISTS', KEYS[1], ARGV[i]) == 1 then
    call('HSET', running, ARGV[i], ARGV[1])
  else
    call('HDEL', running, ARGV[i])
  end
end
return redis.status_reply('OK')
