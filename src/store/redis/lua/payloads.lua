--- part job
-- Reads payloads. Other programs write them, too: with other spacing, with fields of any type, or not as JSON.

-- Fails on a key that can't count. Call it before the first write.
local function checkCount(key)
  local count = redis.call('GET', key)
  if count and not string.find(count, '^%-?%d+$') then error(key .. ' is not a number') end
end

-- Returns a payload as a table if it is a JSON object that may have a field; nil for any other. Nested fields may have the
-- same name, so that the caller checks the value. ending: the end of the field's name with its quotation mark; without the first
-- one, because payloads have many, and the search would stop at each.
local function jobWith(payload, ending)
  if not string.find(payload, ending, 1, true) then return nil end
  local fine, job = pcall(cjson.decode, payload)
  return fine and type(job) == 'table' and job or nil
end

-- Returns the stored payload of a lease if the client's text of it has other bytes: its decoder replaces bytes that aren't UTF-8 by
-- U+FFFD. Nil for any other, and then costs one search of the text.
local function exactOf(leases, token, text)
  if not string.find(text, '\239\191\189', 1, true) then return nil end
  local stored = redis.call('HGET', leases, token)
  local rest = stored or ''
  for _, valid in ipairs({ '[\240-\244][\128-\191][\128-\191][\128-\191]', '[\224-\239][\128-\191][\128-\191]', '[\194-\223][\128-\191]' }) do
    rest = string.gsub(rest, valid, ' ')
  end
  return string.find(rest, '[\128-\255]') and stored or nil
end

-- Returns the payload of a job that dies with the reason why it isn't performed again, and as a dead member of its batch: the last of
-- two fields with one name counts. A payload that isn't a JSON object with fields stays unchanged.
local function withReason(payload)
  local fine, job = pcall(cjson.decode, payload)
  local members = string.match(payload, '^(.*)}%s*$')
  if not fine or type(job) ~= 'table' or not next(job) or not members then return payload end
  if job.batch_counted == 'pending' then members = members .. ',"batch_counted":"dead"' end
  return members .. ',"error_class":"InvalidPayload","error_message":"The job failed or slept, and its payload has ' ..
    'bytes that aren\'t UTF-8: it is stored unchanged, and not performed again"}'
end

-- Returns the group that a payload names, or nil. A huge payload isn't parsed: it stays a job without a group.
local function groupNamedIn(payload)
  local job = #payload <= 1048576 and jobWith(payload, 'group"')
  local group = job and job.group
  return type(group) == 'string' and #group > 0 and #group <= 256 and string.sub(group, 1, 1) ~= '|' and group or nil
end

-- Applies a consequence of a step that has written already. A key that another program has changed must not end the script in
-- the middle: the rest of the step would be lost.
local function apart(effect, ...)
  local fine, result = pcall(effect, ...)
  if fine then return result end
  local text = tostring(type(result) == 'table' and result.err or result)
  for _, about in ipairs({ ... }) do
    if type(about) == 'string' and #about <= 100 then text = text .. ', ' .. about end
  end
  redis.log(redis.LOG_WARNING, 'jobs: a part of a script failed: ' .. text)
  -- `jobs doctor` reports it.
  redis.pcall('HINCRBY', 'jobs:failures', 'count', 1)
  redis.pcall('HSET', 'jobs:failures', 'last', string.sub(text, 1, 300), 'at', redis.call('TIME')[1])
  redis.pcall('EXPIRE', 'jobs:failures', 604800)
end

--- part enqueuedAt
-- Returns when a job was enqueued, in ms: its last field, unless another program wrote it. A large payload isn't parsed.
local function enqueuedAt(payload)
  local at = string.match(string.sub(payload, -64), ',"enqueued_at":([%d.]+)}$')
  if not at and #payload <= 2048 then
    local fine, job = pcall(cjson.decode, payload)
    at = fine and type(job) == 'table' and job.enqueued_at
  end
  at = tonumber(at or nil)
  return at and (at < 1e11 and at * 1000 or at)
end

--- part addMember
-- Adds a member to a set, at a time in ms. A set keeps one of two byte-identical members, so each further one gets
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
