--- script enqueue(pusher; now, wire, number, keepMs, pushedAt, rows, debounced[before, after], replacing[when, ms, queue, preceding, before, after], plain[kind, queue, payloads[]], later[when, ms, queue, payload]): job addMember onceKeys throttle debounce replace groups batch flow
-- Stores a batch of jobs, once: in their queues or in `schedule`, with their unique locks.
--
-- pusher   jobs:pusher:CLIENT: the number of that client's last batch, a space, its result as MessagePack
-- wire     7 or 8
-- number   of this batch; keepMs: how long to keep its result
-- pushedAt  the time in ms that the payloads of "now" have
-- rows     JSON, one text for all, because each argument costs the client more than the rest of its job; in the order of the
--          pushes, so that the first one of two gets a lock:
--            [place of its job in the batch (from 1), then what the push of the job requests:
--             "lock", key, jid, TTL in ms]                a unique lock
--             "once", key, jid, TTL in ms, fingerprint ("" for none)]     a once key
--             "member", batch, worker and token of the running member that adds it ("" for none)]
--             "throttle", key, jid, count, ms]            at most count pushes with the key in this time
--             "debounce", key, jid, ms, max ms (0 for none)]
--          The jobs of the batch are those of the lists, in their order.
-- debounced  before, after: the payload up to its jid, and after it
-- replacing  jobs that may replace others; when: "now", "at" or "in"; preceding: how many jobs of this queue in "now" were
--          pushed before it
-- plain    by queue; kind: "now", payloads that end with the time as enqueued_at; or "raw", payloads that aren't JSON objects,
--          to be stored unchanged
-- later    when: "at" or "in"
-- Result   per refused job: place, jid of the job that has its lock; or: minus the place, jid of the job that was stored
--          with its once key; or: place, "#" and that jid if the fingerprints differ; or: place, " " and the refusal of its batch; or: place, "!", ms until its throttle accepts the
--          next push, a space, jid of the job whose place that is;
--          per job that replaced one: place, "=" and the jid that both have; place, "?" for a job to send again, because a further search
--          in a long queue would make this script too long;
--          0, the time in ms, if the client's time was wrong
-- O(N + L log M) for N jobs, L of them scheduled, M members of `schedule`. To replace a job in a queue: O(its length)

local call = redis.call
local function endingAt(ms)
  return ',"enqueued_at":' .. (wire == '8' and string.format('%d', ms) or string.format('%.3f', ms / 1000)) .. '}'
end
local enqueuedAt = endingAt(now)
local refused = {}
local result = {}

-- The client writes the time into payloads, because Redis hashes each byte of each text that Lua makes: to append the time here
-- would double the time that a large payload takes. A time that is this wrong, in ms, is replaced by the server's.
local MAX_WRONG = 100
local wrongEnding = math.abs(now - pushedAt) > MAX_WRONG and #endingAt(tonumber(pushedAt))

-- The groups "now" by queue. A group also gets the place of the job before its first one, and how many of its jobs are stored, or
-- were refused.
local plainIn = {}
local firstLater = #debounced + #replacing

-- Fail on a key of the wrong type before anything is written.
if #debounced + #replacing + #later > 0 then call('ZCARD', 'schedule') end
for _, job in ipairs(replacing) do checkQueue(job.queue) end
for _, group in ipairs(plain) do
  checkQueue(group.queue)
  group.place, group.stored, group.cut = firstLater, 0, group.kind == 'now' and wrongEnding
  if group.kind == 'now' then plainIn[group.queue] = group end
  firstLater = firstLater + #group.payloads
end
for _, job in ipairs(later) do checkQueue(job.queue) end

-- A batch sent again because its reply was lost is stored already. Return the first result: the locks may be free by now.
local last, reply = string.match(call('GET', pusher) or '', '^(%d+) (.*)$')
if last and tonumber(last) >= tonumber(number) then return cmsgpack.unpack(reply) end

local function replyWith(place, text)
  result[#result + 1] = place
  result[#result + 1] = text
end
if wrongEnding then replyWith(0, string.format('%d', now)) end

-- requests: place → kind → row. places: those with requests, in the order of the pushes. lines: the values of locks and once keys by Redis key.
local requests, places, lines = {}, {}, {}
-- Keys that are read after the first write: fail on those of the wrong type before.
local CHECKS = {
  throttle = { 'LLEN', 'jobs:throttle:' }, debounce = { 'STRLEN', 'jobs:debounce:' }, member = { 'HLEN', 'jobs:batch:' },
}
local PREFIX = { lock = 'jobs:unique:', once = 'jobs:once:' }
do
  local keys = {}
  local function read()
    if #keys == 0 then return end
    for i, line in ipairs(call('MGET', unpack(keys))) do lines[keys[i]] = line end
    keys = {}
  end
  for _, row in ipairs(rows == '' and {} or cjson.decode(rows)) do
    local place, kind, key = unpack(row)
    if not requests[place] then
      requests[place] = {}
      places[#places + 1] = place
    end
    requests[place][kind] = row
    if CHECKS[kind] then call(CHECKS[kind][1], CHECKS[kind][2] .. key) end
    if PREFIX[kind] then keys[#keys + 1] = PREFIX[kind] .. key end
    if #keys == 1000 then read() end
  end
  read()
end

local function lineAt(row) return row and lines[PREFIX[row[2]] .. row[3]] end
local function store(row)
  local _, kind, name, jid, ttl, fingerprint = unpack(row)
  local key = PREFIX[kind] .. name
  lines[key] = lineOf(now + ttl, jid, fingerprint)
  call('SET', key, lines[key], 'PX', ttl + 60000)
  if kind == 'lock' then call('SET', 'jobs:unique-of:' .. jid, name, 'PX', ttl + 60000) end
end

-- Reads each batch once: its state changes only at the end of this script.
local refusals = {}
local function refusalBy(batch, worker, token)
  local key = batch .. ' ' .. worker .. ' ' .. token
  if refusals[key] == nil then refusals[key] = refusalOf(batch, worker, token) or false end
  return refusals[key]
end

-- When the earliest member of `schedule` was due before this batch, and when it is due now.
local head, earliest
local function schedule(at, payload)
  head = head or (call('ZRANGE', 'schedule', 0, 0, 'WITHSCORES')[2] or math.huge) * 1000
  if at < (earliest or head) then earliest = at end
  return addMember('schedule', at, payload)
end

-- Name of a queue or a group → number of jobs pushed to it.
local counts = {}
local function countPushed(queue, count) counts[queue] = (counts[queue] or 0) + count end

-- Returns the job at a place if it may replace another.
local function replacingAt(place) return replacing[place - #debounced] end

-- Stores the jobs of a group up to the `last`-th one.
local function storePlain(group, last)
  while group.stored < last do
    -- Lua limits the number of arguments of a call.
    local from, to = group.stored + 1, math.min(group.stored + 1000, last)
    local batch = {}
    for k = from, to do
      if not refused[group.place + k] then
        local payload = group.payloads[k]
        batch[#batch + 1] = group.cut and string.sub(payload, 1, -group.cut - 1) .. enqueuedAt or payload
      end
    end
    if #batch > 0 then call('LPUSH', 'queue:' .. group.queue, unpack(batch)) end
    countPushed(group.queue, #batch)
    group.stored = to
  end
end

-- Stores a job at once, so that the next one of this batch finds it, and after those of its queue that were pushed before it.
-- waiting: the job that it replaces, as findReplaceable returns it.
-- A job in the same queue keeps its position there; otherwise the time and the queue of the new one count.
local function storeReplacing(job, jid, waiting)
  local when, ms, queue = job.when, job.ms, job.queue
  local text = job.before .. jid .. job.after
  local at = when == 'now' and 0 or when == 'in' and now + ms or tonumber(ms)
  local to = at > now and 'schedule' or 'queue:' .. queue
  if to ~= 'schedule' then text = string.sub(text, 1, -2) .. enqueuedAt end
  if waiting and waiting[1] == to and to ~= 'schedule' then
    call('LSET', to, waiting[3], text)
  else
    if waiting then takeReplaceable(unpack(waiting)) end
    if to == 'schedule' then
      text = schedule(at, text)
    else
      if plainIn[queue] then storePlain(plainIn[queue], tonumber(job.preceding)) end
      call('LPUSH', to, text)
      -- Not at the end of this script: a later job of this batch may replace this one, which notes the removal.
      notePush(queue, 1)
    end
  end
  keepReplaceable(jid, to, text)
end

-- A refused job takes no lock and no place of a throttle, and uses no once key. If an earlier push with the same once key has
-- stored it, the result has only that.
for _, place in ipairs(places) do
  local request = requests[place]
  local earlierJid, fingerprint = holderIn(now, lineAt(request.once))
  local differs = earlierJid and fingerprint ~= '' and request.once[6] ~= '' and fingerprint ~= request.once[6]
  local refusal = not earlierJid and request.member and refusalBy(unpack(request.member, 3))
  local throttled = not earlierJid and not refusal and request.throttle
    and fullThrottle(now, unpack(request.throttle, 3))
  local holder = holderIn(now, lineAt(request.lock))
  local waiting
  if not earlierJid and not refusal and not throttled and holder and replacingAt(place) then waiting = findReplaceable(holder) end
  refused[place] = true
  if differs then
    replyWith(place, '#' .. earlierJid)
  elseif earlierJid then
    replyWith(-place, earlierJid)
  elseif refusal then
    replyWith(place, ' ' .. refusal)
  elseif throttled then
    replyWith(place, '!' .. throttled)
  elseif waiting == false then
    replyWith(place, '?')
  elseif holder and not waiting then
    replyWith(place, holder)
  else
    refused[place] = nil
    if waiting then
      -- The job keeps its jid: a repeated push with the once key returns it, too.
      request.lock[4] = holder
      if request.once then request.once[4] = holder end
      if request.throttle then request.throttle[4] = holder end
      replyWith(place, '=' .. holder)
    end
    if request.once then store(request.once) end
    if request.lock then store(request.lock) end
    if request.throttle then noteThrottled(now, unpack(request.throttle, 3)) end
    if request.member then noteMember(request.member[3], '', 'pending') end
    if replacingAt(place) then storeReplacing(replacingAt(place), request.lock[4], waiting) end
  end
end

for place, job in ipairs(debounced) do
  if not refused[place] then
    local key, jid, wait, max = unpack(requests[place].debounce, 3)
    local waiting = debounce({ now = now, key = key, jid = jid, wait = wait, max = max }, job.before, job.after, schedule)
    if waiting then replyWith(place, '=' .. waiting) end
  end
end
call('SET', pusher, number .. ' ' .. cmsgpack.pack(result), 'PX', keepMs)

for _, group in ipairs(plain) do storePlain(group, #group.payloads) end
for i, job in ipairs(later) do
  if not refused[firstLater + i] then
    local at, payload = tonumber(job.ms), job.payload
    if job.when == 'in' then at = now + at end
    if at <= now then
      call('LPUSH', 'queue:' .. job.queue, string.sub(payload, -1) == '}' and string.sub(payload, 1, -2) .. enqueuedAt or payload)
      countPushed(job.queue, 1)
    else
      schedule(at, payload)
    end
  end
end
notePushes(counts)
apart(countMembers, now)
-- The user may lack the permission to publish: pollers then see the job a second later.
if earliest then redis.pcall('PUBLISH', 'jobs:wake', 'due') end
return result

--- part onceKeys
-- A unique lock holds "MS JID", and a once key "MS JID" or "MS/FINGERPRINT JID": when they expire, and the job. That time counts;
-- Redis deletes the key later.
local function holderIn(now, line)
  local till, fingerprint, holder = string.match(line or '', '^(%d+)/?([%w_-]*) (.*)$')
  return till and tonumber(till) > now and holder, fingerprint
end

local function lineOf(till, jid, fingerprint)
  return string.format('%d', till) .. ((fingerprint or '') ~= '' and '/' .. fingerprint or '') .. ' ' .. jid
end

--- part throttle
-- Throttles of pushes. jobs:throttle:KEY is a list of "MS JID", the latest on the left: when the last pushes with the
-- key were accepted, and their jobs.

-- Returns nil if a throttle accepts a push now; else ms until it does, a space, and the jid of the job whose place is free then.
local function fullThrottle(now, key, _, count, per)
  local list = 'jobs:throttle:' .. key
  local oldest = redis.call('LINDEX', list, count - 1)
  if not oldest then return end
  local latest = redis.call('LINDEX', list, 0)
  if (tonumber(string.match(latest, '^%d+') or nil) or 0) > now then
    -- The clock was set back. Later times become now, so that the throttle is full for `per` at most.
    for i, line in ipairs(redis.call('LRANGE', list, 0, -1)) do
      local at, jid = string.match(line, '^(%d+) (.*)$')
      if not at or tonumber(at) <= now then break end
      redis.call('LSET', list, i - 1, string.format('%d', now) .. ' ' .. jid)
    end
    oldest = redis.call('LINDEX', list, count - 1)
  end
  local at, jid = string.match(oldest, '^(%d+) (.*)$')
  -- Another text isn't a push.
  if not at then return end
  local wait = at + per - now
  if wait > 0 then return string.format('%d', wait) .. ' ' .. jid end
end

local function noteThrottled(now, key, jid, count, per)
  local list = 'jobs:throttle:' .. key
  redis.call('LPUSH', list, string.format('%d', now) .. ' ' .. jid)
  redis.call('LTRIM', list, 0, count - 1)
  redis.call('PEXPIRE', list, per)
end
