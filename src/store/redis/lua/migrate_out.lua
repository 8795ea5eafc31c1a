#!lua flags=allow-oom
-- Deletes the entries of the announced batch, after the other store has imported them, and ends the batch in the same step.
--
-- KEYS[1]  jobs:announced, the last batch
-- ARGV     ID of the batch,
--          then per entry: key of its place (queue:NAME, or a set), its position in a queue, its member,
--            its jid, whose unique lock is released ("" for none)
-- Result   how many were deleted; sent again, it returns the same
-- O(log M) per entry of a set of M members. Entries of a queue: see take_out.lua

local call = redis.call
local id, refs, gone = unpack(call('HMGET', KEYS[1], 'id', 'refs', 'gone'))
if id ~= ARGV[1] then return 0 end
if not refs then return tonumber(gone) end

-- Fail on a key of the wrong type before anything is written.
for i = 2, #ARGV, 4 do
  if ARGV[i + 1] ~= '' then checkQueue(string.sub(ARGV[i], 7)) else call('ZCARD', ARGV[i]) end
end

local count = 0
for i = 2, #ARGV, 4 do
  local from, position, member, jid = unpack(ARGV, i, i + 3)
  local isThere
  if position ~= '' then
    isThere = takeOut(from, tonumber(position), member, ARGV[1])
  else
    isThere = call('ZREM', from, member) == 1
    if isThere then apart(endDebounce, member) end
  end
  if isThere then
    count = count + 1
    if jid ~= '' then
      apart(endJob, jid, true)
    end
  end
end
sweep(ARGV[1])
call('HDEL', KEYS[1], 'refs')
call('HSET', KEYS[1], 'gone', count)
return count
