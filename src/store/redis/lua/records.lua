--- part records
-- Keeps records of ended jobs.
-- now: the store's time in ms; ttl: in ms, "" to keep the record until newer ones displace it. Call `listRecords` afterwards.
local kept = {}
local function keepRecord(now, jid, ttl, body)
  local key = 'jobs:result:' .. jid
  if ttl == '' then
    redis.call('SET', key, ' ' .. body)
  else
    redis.call('SET', key, string.format('%.0f', now + ttl) .. ' ' .. body, 'PX', ttl)
  end
  kept[#kept + 1] = jid
end

-- Lists the records that this script has kept, and drops the oldest beyond `max`.
local function listRecords(max)
  local call = redis.call
  if #kept == 0 then return end
  local number = call('INCRBY', 'jobs:ended:number', #kept) - #kept
  for from = 1, #kept, 1000 do
    local members = {}
    for k = from, math.min(from + 999, #kept) do
      members[#members + 1] = number + k
      members[#members + 1] = kept[k]
    end
    call('ZADD', 'jobs:ended', unpack(members))
  end

  local over = math.min(call('ZCARD', 'jobs:ended') - max, 2 * #kept, 1000)
  if over > 0 then
    local keys = {}
    for _, old in ipairs(call('ZRANGE', 'jobs:ended', 0, over - 1)) do
      keys[#keys + 1] = 'jobs:result:' .. old
      keys[#keys + 1] = 'jobs:stream:' .. old
    end
    call('UNLINK', unpack(keys))
    call('ZREMRANGEBYRANK', 'jobs:ended', 0, over - 1)
  end

  -- Expired records are removed from the list a few at a time, oldest first.
  local expired = {}
  for _, old in ipairs(call('ZRANGE', 'jobs:ended', 0, math.min(3 * #kept, 500) - 1)) do
    if call('EXISTS', 'jobs:result:' .. old) == 0 then expired[#expired + 1] = old end
  end
  if #expired > 0 then call('ZREM', 'jobs:ended', unpack(expired)) end

  -- Usually no client waits. A user without the permission for PUBSUB publishes anyway.
  local listeners = redis.pcall('PUBSUB', 'NUMSUB', 'jobs:results')
  if listeners.err or tonumber(listeners[2]) > 0 then
    for _, jid in ipairs(kept) do redis.pcall('PUBLISH', 'jobs:results', jid) end
  end
end

--- script readRecords(; before, limit, maxBytes) no-writes
-- Reads records of ended jobs, the latest first: up to the limits of number and bytes, but at least one.
--
-- before   the number before which to begin: "+inf", or "(" and a number
-- Result   the number of the last record that was looked up, "" if no more follow; 1 if the next one exceeds the bytes, else 0;
--          then the records, without the expired ones
-- O(N + log M) for N of M records

local call = redis.call
local bytes = tonumber(maxBytes)
limit = tonumber(limit)
local members = call('ZRANGE', 'jobs:ended', before, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, limit, 'WITHSCORES')
local result = { #members < 2 * limit and '' or members[#members], 0 }
for i = 1, #members, 2 do
  local key = 'jobs:result:' .. members[i]
  local size = call('STRLEN', key)
  if size > bytes and i > 1 then
    result[1], result[2] = members[i - 1], 1
    break
  end
  bytes = bytes - size
  if size > 0 then result[#result + 1] = call('GET', key) end
end
return result
