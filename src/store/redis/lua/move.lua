#!lua flags=allow-oom
-- Compare and move: each entry goes from one place to another if it is still there, byte for byte.
--
-- ARGV     offset of the clock in ms, most members of `dead`, their greatest age in ms,
--          then per entry: key it is in (queue:NAME, or a set), member as it is there,
--            key it goes to (queue:NAME, to its back; dead; "" to delete it), member as it is to be there,
--            jid of one that ends with this: its unique lock is let go ("" for none)
-- Result   a string with 1 for each entry that was moved and 0 for each that was gone,
--          now in ms, ms until the earliest member of `retry` or `schedule` ("" if there is none)
-- O(log M) per entry of a set of M members, O(M) per entry of a queue of M jobs (from its front)

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]

-- A key of the wrong type must stop us before anything is written.
local queues = {}
for i = 4, #ARGV, 5 do
  local to = ARGV[i + 2]
  if string.sub(to, 1, 6) == 'queue:' then queues[to] = true end
end
for key in pairs(queues) do
  call('LLEN', key)
  call('SADD', 'queues', string.sub(key, 7))
end
call('ZCARD', 'dead')

local moved = {}
local buried = false
for i = 4, #ARGV, 5 do
  local from, old, to, new, jid = unpack(ARGV, i, i + 4)
  local gone
  if string.sub(from, 1, 6) == 'queue:' then
    gone = call('LREM', from, -1, old) == 0
  else
    gone = call('ZREM', from, old) == 0
  end
  if not gone then
    if queues[to] then
      call('LPUSH', to, new)
    elseif to == 'dead' then
      buried = true
      add('dead', now, new)
    end
    if jid ~= '' then
      unlock(jid)
      endLive(jid)
    end
  end
  moved[#moved + 1] = gone and '0' or '1'
end
if buried then trimDead(now, ARGV[2], ARGV[3]) end

local next = ''
for _, set in ipairs({ 'retry', 'schedule' }) do
  local head = call('ZRANGE', set, 0, 0, 'WITHSCORES')
  if head[2] then
    local wait = math.max(0, math.ceil(head[2] * 1000 - now))
    if next == '' or wait < next then next = wait end
  end
end
return { table.concat(moved), now, next }
