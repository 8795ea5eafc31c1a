#!lua flags=allow-oom
-- Takes jobs from the right ends of queues; each becomes a lease.
--
-- A token is: 11 hex digits of the time in ms, 16 of the taking, "-", 5 digits of the place in it, ":", the queue.
-- Sorted as text, tokens of one owner are in the order of taking.
--
-- KEYS[1]  jobs:leases:OWNER
-- ARGV     offset of the clock in ms, owner, 16 hex digits that name this taking, limit,
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
local first = 6 + ARGV[5]
local again = {}
local result = { prefix, again }

-- An owner without a heartbeat must be found by the rescuer.
call('ZADD', 'jobs:owners', 'NX', now, ARGV[2])

-- What was taken when the answer was lost: the owner knows nothing of it. What is too much now goes back.
if first > 6 then
  local unanswered = {}
  for i = 6, first - 1 do unanswered[ARGV[i]] = true end
  local tokens = {}
  for _, token in ipairs(call('HKEYS', KEYS[1])) do
    if unanswered[string.sub(token, 12, 27)] then tokens[#tokens + 1] = token end
  end
  table.sort(tokens)
  for i = #tokens, 1, -1 do
    if i > left then
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
if left == 0 or first > #ARGV then return result end

-- The first name stands for all queues.
local paused = pausedOf(now, { '*', unpack(ARGV, first) })
if paused[1] ~= 0 then return result end
local limits = call('HMGET', 'jobs:limits', unpack(ARGV, first))
local place = 10000
-- A queue that cannot be read (its key, or one that its limit is counted from, is of another type) stops no other: what
-- was taken before would be nobody's. It is told where there is nothing else to tell.
local failure
for i = first, #ARGV do
  if paused[i - first + 2] == 0 then
    local limit, most = limitIn(limits[i - first + 1]), left
    if limit then
      local fine, room = pcall(roomIn, ARGV[i], limit, now, true)
      if fine then most = math.min(left, room) else most, failure = 0, room end
    end
    local jobs = most > 0 and redis.pcall('RPOP', 'queue:' .. ARGV[i], most)
    if jobs and jobs.err then
      failure = jobs
    elseif jobs and #jobs > 0 then
      local suffix = ':' .. ARGV[i]
      for from = 1, #jobs, 1000 do
        local leases = {}
        for k = from, math.min(from + 999, #jobs) do
          leases[#leases + 1] = prefix .. place .. suffix
          leases[#leases + 1] = jobs[k]
          place = place + 1
        end
        call('HSET', KEYS[1], unpack(leases))
        if limit then noteTaken(ARGV[i], limit, now, ARGV[2], leases) end
      end
      left = left - #jobs
      jobs[#jobs + 1] = ARGV[i]
      result[#result + 1] = jobs
      if left == 0 then break end
    end
  end
end
if failure and #result == 2 and #again == 0 then
  return type(failure) == 'string' and redis.error_reply(failure) or failure
end
return result
