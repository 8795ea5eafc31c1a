--- script cronRead(; now, names[]): cron
-- Reads cron entries.
--
-- Result   now in ms, then a row per existing entry: see rowOf
-- O(N) for N names
local result = { now }
for _, name in ipairs(names) do result[#result + 1] = rowOf(name) end
return result

--- script cronPage(; now, prefix, tag, sort, score, after, limit): cron
-- Reads a page of cron entries.
--
-- tag      "" for all
-- sort     "name" or "next"; of the latter, the page begins after this score and name
-- after    the last name of the page before, "" for none
-- Result   now in ms, then a row per entry
-- O(M log(N)) for N entries, M of the page
local call = redis.call
local result = { now }
if sort == 'name' then
  local key = tag == '' and 'jobs:cron:index' or 'jobs:cron:tag:' .. tag
  local from = after ~= '' and '(' .. after or prefix ~= '' and '[' .. prefix or '-'
  local to = prefix ~= '' and '(' .. prefix .. '\255' or '+'
  for _, name in ipairs(call('ZRANGEBYLEX', key, from, to, 'LIMIT', 0, limit)) do result[#result + 1] = rowOf(name) end
  return result
end

-- The next names of one index after the cursor, with their scores. Names of one score are in their order.
local function following(key)
  local from = 0
  if after ~= '' then
    from = call('ZCOUNT', key, '-inf', '(' .. score)
    local to = from + call('ZCOUNT', key, score, score)
    while from < to do
      local middle = math.floor((from + to) / 2)
      if call('ZRANGE', key, middle, middle)[1] > after then to = middle else from = middle + 1 end
    end
  end
  local found = {}
  local page = call('ZRANGE', key, from, from + limit - 1, 'WITHSCORES')
  for i = 1, #page, 2 do found[#found + 1] = { name = page[i], score = tonumber(page[i + 1]) } end
  return found
end

local names = following('jobs:cron:due')
for _, one in ipairs(following('jobs:cron:own')) do names[#names + 1] = one end
table.sort(names, function(a, b) return a.score < b.score or a.score == b.score and a.name < b.name end)
for i = 1, math.min(#names, limit) do result[#result + 1] = rowOf(names[i].name) end
return result

--- script cronSurvey(; now, configured[]): cron
-- Marks cron entries as configured by a worker, and reads the versions of those that aren't shared.
--
-- configured  names of the worker's entries
-- Result   now in ms, number of announced changes, time of the latest write, then per entry: name, version, when it was last seen
-- O(N) for N entries that aren't shared
local call = redis.call
checkCron()
for _, name in ipairs(configured) do
  local entry = readCron(name)
  if entry then
    entry.seen = now
    writeCron(name, entry)
  end
end
local result = { now, countOf('jobs:cron:changes'), countOf('jobs:cron:latest') }
for _, name in ipairs(call('ZRANGE', 'jobs:cron:own', 0, -1)) do
  local entry = readCron(name)
  if entry then result[#result + 1] = { name, entry.version, entry.seen } end
end
return result

--- script cronClaim(; now, limit, holdMs): cron
-- Claims shared cron entries that are due: no other claim returns them for a while.
--
-- Result   now in ms, when the next one is due (false if none will be), then a row per claimed entry
-- O(M log(N)) for M claimed of N entries
local call = redis.call
checkCron()
local result = { now, false }
for _, name in ipairs(call('ZRANGEBYSCORE', 'jobs:cron:due', '-inf', now, 'LIMIT', 0, limit)) do
  call('ZADD', 'jobs:cron:due', now + holdMs, name)
  local row = rowOf(name)
  if row then result[#result + 1] = row else call('ZREM', 'jobs:cron:due', name) end
end
local first = call('ZRANGE', 'jobs:cron:due', 0, 0, 'WITHSCORES')[2]
if first and first ~= 'inf' then result[2] = first end
return result

--- script cronWrite(done; now, wire, maxRecords, allRecords, keepMs, writes[name, version, state, next, awaited, verb, shared, tags, definition, live, jobs[queue, jid, payload], follow[queue, payload], events[], records[]]): job groups pushOnce cron events
-- Changes or removes cron entries, each if it has not changed since it was read, and pushes the jobs that follow. Sent again because its
-- reply was lost, it changes nothing and returns the same.
--
-- done     jobs:cron:done:WRITE, the result of this write
-- wire     7 or 8
-- maxRecords, allRecords  how many records to keep of each entry, and of all entries together
-- keepMs   how long to keep the result of this write
-- writes   version: as read, 0 for none; next: in ms, or inf; awaited: "1" if the end of its job is awaited, else ""; verb: "define",
--           "keep" or "remove"; shared: "1" or ""; tags: one a line; live: a job of another store, or ""; payload: without its closing
--           brace; follow: further jobs to push; events: members of events
-- Result   per entry its new version, that read of a removed one; 0 if it has changed
-- O(N log(M)) for N arguments and M entries

local call = redis.call
local stored = call('GET', done)
if stored then return cmsgpack.unpack(stored) end

local enqueuedAt = ',"enqueued_at":' .. (wire == '8' and string.format('%d', now) or string.format('%.3f', now / 1000)) .. '}'

-- Fail on a key of the wrong type before anything is written.
checkCron()
call('HLEN', 'jobs:cron:live')
checkCount('jobs:cron:version')
for _, write in ipairs(writes) do
  call('LLEN', 'jobs:cron:log:' .. write.name)
  local entry = readCron(write.name)
  for tag in string.gmatch(write.tags .. '\n' .. (entry and entry.tags or ''), '[^\n]+') do call('ZCARD', 'jobs:cron:tag:' .. tag) end
  for _, job in ipairs(write.jobs) do checkQueue(job.queue) end
end

local result = {}
local isChanged = false
local kept = math.max(1, math.min(tonumber(maxRecords), math.floor(allRecords / math.max(1, call('ZCARD', 'jobs:cron:index')))))
local first = tonumber(call('ZRANGE', 'jobs:cron:due', 0, 0, 'WITHSCORES')[2] or 'inf')
for _, write in ipairs(writes) do
  local name = write.name
  local entry = readCron(name)
  if (entry and entry.version or '0') ~= write.version then
    result[#result + 1] = 0
  elseif write.verb == 'remove' then
    if entry then
      isChanged = isChanged or not entry.shared
      removeCron(name, entry)
    end
    result[#result + 1] = tonumber(write.version)
  else
    local was = entry or { seen = now, live = '', definition = '', tags = '', shared = false }
    local version = call('INCR', 'jobs:cron:version')
    result[#result + 1] = version
    local new = { version = version, seen = was.seen, live = was.live, definition = was.definition, tags = was.tags, shared = was.shared }
    new.awaited, new.state = write.awaited == '1', write.state
    if write.verb == 'define' then
      new.seen, new.definition, new.tags, new.shared = now, write.definition, write.tags, write.shared == '1'
      isChanged = isChanged or not new.shared or entry and not entry.shared or (tonumber(write.next) or math.huge) < first
    end
    if write.live ~= '' then new.live = write.live end
    for _, job in ipairs(write.jobs) do
      call('LPUSH', 'queue:' .. job.queue, job.payload .. enqueuedAt)
      notePush(job.queue, 1)
      new.live = job.jid
    end
    if new.live ~= was.live then
      if was.live ~= '' then call('HDEL', 'jobs:cron:live', was.live) end
      call('HSET', 'jobs:cron:live', new.live, name)
    end
    for _, job in ipairs(write.follow) do apart(pushOnce, now, wire, job) end
    for _, event in ipairs(write.events) do apart(recordEvent, now, event) end
    writeCron(name, new)
    indexCron(name, entry, new, write.next)
    local records = {}
    for _, record in ipairs(write.records) do records[#records + 1] = string.format('%.0f ', now) .. record end
    for from = 1, #records, 1000 do
      call('LPUSH', 'jobs:cron:log:' .. name, unpack(records, from, math.min(from + 999, #records)))
    end
    if #records > 0 then call('LTRIM', 'jobs:cron:log:' .. name, 0, kept - 1) end
  end
end
if isChanged then announceCron() end
if now > countOf('jobs:cron:latest') then call('SET', 'jobs:cron:latest', string.format('%.0f', now)) end
call('SET', done, cmsgpack.pack(result), 'PX', keepMs)
return result

--- script cronReplan(; now, after, limit): cron
-- Makes the next shared cron entries after a name due. After the last one, forgets the time of the latest write.
--
-- Result   the last name; false at the end
-- O(N log(M)) for N of M entries
local call = redis.call
checkCron()
local last = false
for _, name in ipairs(call('ZRANGEBYLEX', 'jobs:cron:index', after == '' and '-' or '(' .. after, '+', 'LIMIT', 0, limit)) do
  call('ZADD', 'jobs:cron:due', 'XX', 0, name)
  last = name
end
if not last then
  call('SET', 'jobs:cron:latest', string.format('%.0f', now))
  announceCron()
end
return last

--- part cron: job
-- Cron entries. `jobs:cron:entries` is a hash, name → "VERSION SEEN AWAITED SHARED LIVE DEFINITION TAGS:", of the last three their
-- lengths, then these texts and the state. One field of one hash takes a third of the memory of a hash for each entry.
-- `jobs:cron:index` has all names in their order, `jobs:cron:due` the shared ones by the time at which they are due, `jobs:cron:own`
-- the others, `jobs:cron:tag:TAG` those with a tag.

-- Fails on a key of the wrong type before anything is written.
local function checkCron()
  redis.call('HLEN', 'jobs:cron:entries')
  for _, key in ipairs({ 'jobs:cron:index', 'jobs:cron:due', 'jobs:cron:own' }) do redis.call('ZCARD', key) end
  checkCount('jobs:cron:changes')
  checkCount('jobs:cron:latest')
end

local function countOf(key)
  return tonumber(redis.call('GET', key) or 0) or 0
end

-- Returns an entry; nil if it doesn't exist or another program has written it.
local function readCron(name)
  local value = redis.call('HGET', 'jobs:cron:entries', name)
  local version, seen, awaited, shared, live, definition, tags, at =
    string.match(value or '', '^(%d+) (%d+) ([01]) ([01]) (%d+) (%d+) (%d+):()')
  if not version then return nil end
  local function cut(length)
    local from = at
    at = at + length
    return string.sub(value, from, at - 1)
  end
  local entry = { version = version, seen = tonumber(seen), awaited = awaited == '1', shared = shared == '1' }
  entry.live, entry.definition, entry.tags = cut(tonumber(live)), cut(tonumber(definition)), cut(tonumber(tags))
  entry.state = string.sub(value, at)
  return entry
end

local function writeCron(name, entry)
  local head = string.format('%s %.0f %d %d %d %d %d:', entry.version, entry.seen, entry.awaited and 1 or 0,
    entry.shared and 1 or 0, #entry.live, #entry.definition, #entry.tags)
  redis.call('HSET', 'jobs:cron:entries', name, head .. entry.live .. entry.definition .. entry.tags .. entry.state)
end

-- Returns an entry as scripts return it: name, version, seen, live, definition, tags, state, shared, next.
local function rowOf(name)
  local entry = readCron(name)
  if not entry then return nil end
  local next = redis.call('ZSCORE', entry.shared and 'jobs:cron:due' or 'jobs:cron:own', name) or 'inf'
  local shared = entry.shared and 1 or 0
  return { name, entry.version, entry.seen, entry.live, entry.definition, entry.tags, entry.state, shared, next }
end

-- Writes the indexes of an entry.
local function indexCron(name, before, after, next)
  local call = redis.call
  if not before then call('ZADD', 'jobs:cron:index', 0, name) end
  if before and before.shared ~= after.shared then call('ZREM', before.shared and 'jobs:cron:due' or 'jobs:cron:own', name) end
  call('ZADD', after.shared and 'jobs:cron:due' or 'jobs:cron:own', next, name)
  local tags = before and before.tags or ''
  if tags == after.tags then return end
  for tag in string.gmatch(tags, '[^\n]+') do call('ZREM', 'jobs:cron:tag:' .. tag, name) end
  for tag in string.gmatch(after.tags, '[^\n]+') do call('ZADD', 'jobs:cron:tag:' .. tag, 0, name) end
end

local function removeCron(name, entry)
  local call = redis.call
  if entry.live ~= '' then call('HDEL', 'jobs:cron:live', entry.live) end
  call('HDEL', 'jobs:cron:entries', name)
  call('DEL', 'jobs:cron:log:' .. name)
  for _, key in ipairs({ 'jobs:cron:index', 'jobs:cron:due', 'jobs:cron:own' }) do call('ZREM', key, name) end
  for tag in string.gmatch(entry.tags, '[^\n]+') do call('ZREM', 'jobs:cron:tag:' .. tag, name) end
end

local function announceCron()
  redis.call('INCR', 'jobs:cron:changes')
  -- The user may lack the permission to publish: schedulers then see the change some seconds later.
  redis.pcall('PUBLISH', 'jobs:wake', 'cron')
end

--- part endCronJob: cron
-- Ends the live job of a cron entry, because the job has left the store or is dead.
local function endCronJob(jid)
  local call = redis.call
  local name = call('HGET', 'jobs:cron:live', jid)
  if not name then return end
  call('HDEL', 'jobs:cron:live', jid)
  local entry = readCron(name)
  if not entry or entry.live ~= jid then return end
  local awaited = entry.awaited
  entry.live, entry.awaited, entry.version = '', false, call('INCR', 'jobs:cron:version')
  writeCron(name, entry)
  if not awaited then return end
  if entry.shared then call('ZADD', 'jobs:cron:due', 0, name) end
  announceCron()
end
