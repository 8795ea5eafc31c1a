#!lua flags=allow-oom
-- Compare and move: moves each entry from one place to another if its member is still there, byte for byte. Sent again
-- because its reply was lost, it moves nothing, and returns the same.
--
-- KEYS[1]  jobs:mover:CLIENT, the number of that client's last script, and its result
-- ARGV     offset of the clock in ms, number of this script, ms to keep its result, max members of `dead`, their max
--          age in ms, max records,
--          then per entry: key of its place (queue:NAME, or a set), its position in a queue, its member,
--            key of its new place (queue:NAME, to its back; dead; "" to delete it), its new member ("": unchanged),
--            jid of a job that ends with this: its unique lock is released ("" for none),
--            jid of the record to keep ("" for none), its TTL in ms ("" without a limit), its body
-- Result   a string with, per entry, 1 if it was moved, 0 if its member doesn't exist, ? if it isn't near its position;
--          now in ms; ms until the earliest member of `retry` or `schedule` ("" if both are empty)
-- O(log M) per entry of a set of M members. Entries of a queue: see take_out.lua; one walk from the nearer end for all

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]

local function isQueue(key) return string.sub(key, 1, 6) == 'queue:' end

local function move()
  -- Fail on a key of the wrong type before anything is written.
  local queues = {}
  for i = 7, #ARGV, 9 do
    for _, key in ipairs({ ARGV[i], ARGV[i + 3] }) do
      if isQueue(key) then queues[key] = true elseif key ~= '' then call('ZCARD', key) end
    end
  end
  for key in pairs(queues) do checkQueue(string.sub(key, 7)) end
  call('ZCARD', 'dead')
  call('ZCARD', 'jobs:ended')

  local mark = KEYS[1] .. ':' .. ARGV[2]
  local moved = {}
  local buried = false
  for i = 7, #ARGV, 9 do
    local from, position, old, to, new, jid, recorded, ttl, body = unpack(ARGV, i, i + 8)
    local state = '1'
    if isQueue(from) then
      if not takeOut(from, tonumber(position), old, mark) then state = '?' end
    elseif call('ZREM', from, old) == 0 then
      state = '0'
    elseif from == 'schedule' then
      apart(endDebounce, old)
    end
    if state == '1' then
      if new == '' then new = old end
      if isQueue(to) then
        call('LPUSH', to, new)
        apart(noteReplaceable, to, new)
        apart(notePush, string.sub(to, 7), 1)
      elseif to == 'dead' then
        buried = true
        addMember('dead', now, new)
      end
      if jid ~= '' then
        apart(endJob, jid, to == '')
        apart(failParentOf, now, old, to ~= '' and 'Killed' or recorded ~= '' and 'Cancelled' or 'Deleted')
      end
      local batch, counted, node = memberOf(old)
      if batch then
        local _, new = memberOf(new)
        local how = to == '' and (recorded == '' and 'deleted' or 'cancelled') or new
        if how then noteMember(batch, counted, how, node) end
      end
      if recorded ~= '' then keepRecord(now, recorded, ttl, body) end
    end
    moved[#moved + 1] = state
  end
  sweep(mark)
  apart(listRecords, ARGV[6])
  if buried then apart(trimDead, now, ARGV[4], ARGV[5]) end
  apart(countMembers, now)
  return table.concat(moved)
end

local last, moved = string.match(call('GET', KEYS[1]) or '', '^(%d+) (.*)$')
if not last or tonumber(last) < tonumber(ARGV[2]) then
  moved = move()
  if moved ~= '' then call('SET', KEYS[1], ARGV[2] .. ' ' .. moved, 'PX', ARGV[3]) end
end

local next = ''
for _, set in ipairs({ 'retry', 'schedule' }) do
  local head = call('ZRANGE', set, 0, 0, 'WITHSCORES')
  if head[2] then
    local wait = math.max(0, math.ceil(head[2] * 1000 - now))
    if next == '' or wait < next then next = wait end
  end
end
return { moved, now, next }
