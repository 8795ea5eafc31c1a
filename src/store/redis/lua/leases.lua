--- script stillLeased(leases; tokens[]) no-writes
-- Reads which leases a worker still has.
--
-- leases   jobs:leases:WORKER
-- Result   those of them that have a lease
-- O(N) for N tokens

local held = {}
for _, token in ipairs(tokens) do
  if redis.call('HEXISTS', leases, token) == 1 then held[#held + 1] = token end
end
return held

--- script readLeases(leases; maxBytes, isFirst, tokens[]) no-writes
-- Reads the leases with these tokens, up to the limit of bytes.
--
-- leases   jobs:leases:WORKER
-- isFirst  "1" to read at least one
-- Result   a digit for each of the first tokens, "1" if its job was cancelled, else "0"; then their payloads, false for a lease that has ended
-- O(N) for N leases

local bytes = tonumber(maxBytes)
local cancelled = 'jobs:cancelled:' .. string.sub(leases, 13)
local digits, result = {}, { '' }
for i, token in ipairs(tokens) do
  local size = redis.call('HSTRLEN', leases, token)
  if size > bytes and (i > 1 or isFirst ~= '1') then break end
  bytes = bytes - size
  digits[i] = redis.call('SISMEMBER', cancelled, token)
  result[i + 1] = redis.call('HGET', leases, token)
end
result[1] = table.concat(digits)
return result

--- part returnLease: job groups
-- The end of a lease without an outcome.

-- Texts of jids that are looked up before the payload is parsed.
local MAX_JIDS = 20

-- Returns whether a job may have steps or a stream. Arguments may contain the text of another jid, and a mark too many does no harm, so that
-- no payload is parsed but one with many of them, or with an escaped one.
local function mayHaveSteps(payload)
  local function exist(jid) return redis.call('EXISTS', 'jobs:steps:' .. jid, 'jobs:stream:' .. jid) > 0 end
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

local function withMark(payload, mark)
  local job = jobWith(payload, mark .. '"')
  if job and job[mark] and job[mark] ~= cjson.null then return payload end
  local members = string.match(payload, '^(.*)}%s*$')
  return members and members .. ',"' .. mark .. '":true}' or payload
end

-- Returns a payload with the mark of a job with steps or a stream, if it may have any, and of one that has begun, if it would expire: a
-- worker that retries such a job, or lets it sleep, marks the payload that it stores.
local function markReturned(payload, hasBegun)
  if mayHaveSteps(payload) then payload = withMark(payload, 'has_steps') end
  local job = hasBegun and jobWith(payload, 'expires_in"')
  return job and type(job.expires_in) == 'number' and withMark(payload, 'begun') or payload
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
-- written keeps it. hasBegun: the job may have started.
--
-- The lease of a cancelled job (`send`) passes to the worker ID "cancelled", which is always offline, so that the next
-- rescue ends the job. Returns nil then.
local function returnLease(leases, token, payload, hasBegun)
  local name = placeIn(token)
  payload = markReturned(payload, hasBegun)
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

--- script reconcileLeases(leases; prefix, last, unanswered[], held[]) allow-oom: returnLease groups
-- Returns leases to their queues that their worker has settled, and that the server has again: it lost its latest writes in a
-- crash, or a replica that lagged took its place. See lease_book.ts.
--
-- leases   jobs:leases:WORKER
-- prefix   of the names of this worker's takes (8 hex digits)
-- last     name of its last take when it sent this
-- unanswered  names of takes
-- held     tokens that the worker holds
-- Result   how many were returned
-- O(N log N) for N leases

local call = redis.call
local known, lost = {}, {}
for _, token in ipairs(held) do known[token] = true end
for _, name in ipairs(unanswered) do lost[name] = true end

checkCancelled(leases)
local tokens = {}
for _, token in ipairs(call('HKEYS', leases)) do
  local name = string.sub(token, 12, 27)
  if string.sub(name, 1, 8) == prefix and name <= last and not known[token] and not lost[name] then
    checkQueue(placeIn(token))
    tokens[#tokens + 1] = token
  end
end
-- Youngest first, so that the oldest ends at the very front: the right end.
table.sort(tokens)
for i = #tokens, 1, -1 do
  returnLease(leases, tokens[i], call('HGET', leases, tokens[i]), true)
end
return #tokens

--- script countLeases(leases; worker, queue, tokens[]) allow-oom
-- Counts leases of a queue's groups against the limits of these groups, or stops counting them if the queue has no limits for
-- groups. `take` counts later leases.
--
-- leases   jobs:leases:WORKER
-- tokens   of its groups
-- O(N) for N leases

local call = redis.call
local isLimited = call('EXISTS', 'jobs:groups:limits:' .. queue) == 1
for _, token in ipairs(tokens) do
  local running = 'jobs:running:' .. string.match(token, ':(.*)$')
  if isLimited and call('HEXISTS', leases, token) == 1 then
    call('HSET', running, token, worker)
  else
    call('HDEL', running, token)
  end
end
return redis.status_reply('OK')
