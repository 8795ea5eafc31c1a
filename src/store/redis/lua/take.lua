#!lua flags=allow-oom
-- Takes jobs from the right ends of queues, as many as the limits of number and bytes allow, and always one. Each becomes
-- a lease.
--
-- A token is: 11 hex digits of the time in ms, 16 of the taking, "-", 5 digits of the place in it, ":", the queue.
-- Sorted as text, tokens of one owner are in the order of taking.
--
-- KEYS[1]  jobs:leases:OWNER
-- ARGV     offset of the clock in ms, owner, 16 hex digits that name this taking, limit, most bytes,
--          number of unanswered takings, their names, then the queues in order
-- Result   what all tokens of this taking begin with,
--          per lease of an unanswered taking: token, payload (flat),
--          then per queue: its payloads, its name
-- O(N) for N jobs, and those that count against the limit of a queue

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local prefix = string.format('%011x', now) .. ARGV[3] .. '-'
local left = tonumber(ARGV[4])
local bytes = tonumber(ARGV[5])
local first = 7 + ARGV[6]
local again = {}
local result = { prefix, again }

-- An owner without a heartbeat must be found by the rescuer.
call('ZADD', 'jobs:owners', 'NX', now, ARGV[2])

-- What was taken when the answer was lost: the owner knows nothing of it. What is too much now goes back.
if first > 7 then
  local unanswered = {}
  for i = 7, first - 1 do unanswered[ARGV[i]] = true end
  local tokens = {}
  for _, token in ipairs(call('HKEYS', KEYS[1])) do
    if unanswered[string.sub(token, 12, 27)] then tokens[#tokens + 1] = token end
  end
  table.sort(tokens)
  local fits = 0
  for i = 1, math.min(#tokens, left) do
    local size = call('HSTRLEN', KEYS[1], tokens[i])
    if i > 1 and size > bytes then break end
    bytes = bytes - size
    fits = i
  end
  for i = #tokens, 1, -1 do
    if i > fits then
      local queue = string.match(tokens[i], ':(.*)$')
      call('RPUSH', 'queue:' .. queue, call('HGET', KEYS[1], tokens[i]))
      call('SADD', 'queues', queue)
      call('HDEL', KEYS[1], tokens[i])
      tokens[i] = nil
    end
  end
  for i, token in ipairs(tokens) do
    again[2 * i - 1] = token
    again[2 * i] = call('HGET', KEYS[1], token)
  end
  left = left - #tokens
end
if left == 0 or bytes <= 0 or first > #ARGV then return result end

-- The first name stands for all queues.
local names = { '*' }
for i = first, #ARGV do names[#names + 1] = ARGV[i] end
local paused = pausedOf(now, names)
if paused[1] ~= 0 then return result end
local limits = limitsOf(names)
local place = 10000
local count = #again / 2
-- How many jobs are popped at once: growing, as their sizes are not known.
local at_once = 1

-- Takes up to `most` jobs of a queue. Returns them, or the error of a key that is no list.
local function takeFrom(queue, limit, most)
  local key, suffix = 'queue:' .. queue, ':' .. queue
  local taken = {}
  while most > 0 and bytes > 0 do
    local wanted = math.min(most, at_once)
    local jobs = redis.pcall('RPOP', key, wanted)
    if not jobs then break end
    if jobs.err then return jobs end
    local popped, fits, leases = #jobs, 0, {}
    while fits < popped and (count == 0 or #jobs[fits + 1] <= bytes) do
      fits = fits + 1
      count = count + 1
      bytes = bytes - #jobs[fits]
      leases[2 * fits - 1] = prefix .. place .. suffix
      leases[2 * fits] = jobs[fits]
      taken[#taken + 1] = jobs[fits]
      place = place + 1
    end
    if fits > 0 then
      call('HSET', KEYS[1], unpack(leases))
      if limit then noteTaken(queue, limit, now, ARGV[2], leases) end
    end
    if fits < popped then
      -- The youngest first, so that the oldest is at the right end again.
      bytes = 0
      for k = popped, fits + 1, -1 do call('RPUSH', key, jobs[k]) end
    end
    if popped < wanted then break end
    most = most - popped
    at_once = math.min(4 * at_once, 100)
  end
  return taken
end

-- A queue that cannot be read (its key, or one that its limit is counted from, is of another type) stops no other: what
-- was taken before would be nobody's. It is told where there is nothing else to tell.
local failure
for i = 2, #names do
  if paused[i] == 0 then
    local name, limit, most = names[i], limits[i], left
    if limit then
      local fine, room = pcall(roomIn, name, limit, now, true)
      if fine then most = math.min(left, room) else most, failure = 0, room end
    end
    local jobs = takeFrom(name, limit, most)
    if jobs.err then
      failure = jobs
    elseif #jobs > 0 then
      left = left - #jobs
      jobs[#jobs + 1] = name
      result[#result + 1] = jobs
      if left == 0 or bytes <= 0 then break end
    end
  end
end
if failure and #result == 2 and #again == 0 then
  return type(failure) == 'string' and redis.error_reply(failure) or failure
end
return result
