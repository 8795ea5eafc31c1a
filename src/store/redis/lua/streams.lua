--- part streams
-- The stream of a job, jobs:stream:JID (stream): an entry per write, with the ID LAST-0 by the number of its last chunk. Its fields are
-- the lease that wrote it, the number of the run, the attempt, how many chunks that lease has written, how many characters
-- the stream has had, and the chunks (a JSON list). After the end of the job follows LAST-1, with ended and no chunks.
local TAIL_MS = 60000

-- Returns the last entry as a table, and the number of the last chunk; nil for a job without a stream.
local function lastOf(key)
  local entry = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  if not entry then return nil end
  local fields = {}
  for i = 1, #entry[2], 2 do fields[entry[2][i]] = entry[2][i + 1] end
  return fields, tonumber((string.match(entry[1], '^%d+')))
end

-- Usually no client waits. A user without the permission for PUBSUB publishes anyway.
local function announceStream(jid)
  local listeners = redis.pcall('PUBSUB', 'NUMSUB', 'jobs:streams')
  if listeners.err or tonumber(listeners[2]) > 0 then redis.pcall('PUBLISH', 'jobs:streams', jid) end
end

-- Ends the stream of a job that has ended: it stays as long as the record of the job, and for a minute without one.
local function endStream(jid)
  local call = redis.call
  local key = 'jobs:stream:' .. jid
  local last, number = lastOf(key)
  if not last then return end
  if not last.ended then
    call('XADD', key, string.format('%.0f-1', number), 'token', last.token, 'run', last.run, 'attempt', last.attempt,
      'written', last.written, 'size', last.size, 'ended', '1', 'body', '')
  end
  local left = call('PTTL', 'jobs:result:' .. jid)
  if left == -1 then
    call('PERSIST', key)
  else
    call('PEXPIRE', key, left >= 0 and left or TAIL_MS)
  end
  announceStream(jid)
end

--- script streamAppend(leases, stream; token, jid, attempt, from, maxSize, chunks[]): streams
-- Appends chunks to the stream of a job, under its lease. Those that this lease has written already are skipped.
--
-- leases   jobs:leases:WORKER
-- stream   jobs:stream:JID
-- from     how many chunks the lease has written or dropped before these
-- maxSize  bytes that the stream keeps
-- chunks   JSON
-- Result   0 if the worker has lost the lease, else 1
-- O(N) for N chunks, and the entries that it drops

local call = redis.call
if call('HEXISTS', leases, token) == 0 then return 0 end
local last, number = lastOf(stream)
last = last or { run = 0, size = 0 }
number = number or 0
local isSame = last.token == token
local written = isSame and tonumber(last.written) or 0
local known = math.max(0, written - from)
if known >= #chunks then return 1 end
local body = '[' .. table.concat(chunks, ',', known + 1) .. ']'
number = number + math.max(0, from - written) + #chunks - known
local size = last.size + #body
call('XADD', stream, string.format('%.0f-0', number), 'token', token, 'run', string.format('%.0f', last.run + (isSame and 0 or 1)),
  'attempt', attempt, 'written', string.format('%.0f', from + #chunks), 'size', string.format('%.0f', size), 'body', body)
call('PERSIST', stream)
-- The first entry has the characters up to its end.
while true do
  local entry = call('XRANGE', stream, '-', '+', 'COUNT', 2)
  if not entry[2] then break end
  local before = 0
  for i = 1, #entry[1][2], 2 do
    if entry[1][2][i] == 'size' then before = before + entry[1][2][i + 1] end
    if entry[1][2][i] == 'body' then before = before - #entry[1][2][i + 1] end
  end
  if size - before <= tonumber(maxSize) then break end
  call('XDEL', stream, entry[1][1])
end
announceStream(jid)
return 1

--- script importStream(stream; imported[last, run, attempt, body]): streams
-- Continues the stream of a job with entries of another store. Those that exist here stay.
--
-- stream   jobs:stream:JID
-- imported per entry the number of its last chunk, its run, its attempt and its chunks (JSON)
-- O(N) for N entries

local call = redis.call
local last, number = lastOf(stream)
local size = tonumber(last and last.size or 0)
number = number or 0
for _, part in ipairs(imported) do
  if tonumber(part.last) > number then
    number = tonumber(part.last)
    size = size + #part.body
    call('XADD', stream, part.last .. '-0', 'token', '', 'run', part.run, 'attempt', part.attempt, 'written', '0',
      'size', string.format('%.0f', size), 'body', part.body)
  end
end
return 0

--- script streamRead(stream; after, maxBytes) no-writes: streams
-- Reads the entries of a stream after a chunk, up to the limit of bytes, but at least one.
--
-- stream   jobs:stream:JID
-- Result   false without a stream; else the number of the last chunk, 1 if the job has ended, and per entry the number of its last
--          chunk, its run, its attempt and its chunks
-- O(N) for N entries

local call = redis.call
local last, number = lastOf(stream)
if not last then return false end
local bytes = tonumber(maxBytes)
local result = { string.format('%.0f', number), last.ended and 1 or 0 }
local from = string.format('%.0f', after + 1)
while true do
  local entries = call('XRANGE', stream, from, '+', 'COUNT', 10)
  for _, entry in ipairs(entries) do
    local fields = {}
    for i = 1, #entry[2], 2 do fields[entry[2][i]] = entry[2][i + 1] end
    if fields.body ~= '' then
      bytes = bytes - #fields.body
      if bytes < 0 and #result > 2 then return result end
      for _, part in ipairs({ string.match(entry[1], '^%d+'), fields.run, fields.attempt, fields.body }) do
        result[#result + 1] = part
      end
    end
    from = '(' .. entry[1]
  end
  if #entries < 10 then return result end
end
