#!lua
-- Takes in a batch of jobs that another store had, once.
--
-- KEYS[1]  jobs:imported:BATCH
-- ARGV     offset of the clock in ms, for how many ms to remember the batch,
--          then per job: where it goes (queue:NAME or a set), time in ms in a set, payload,
--            key of its unique lock ("" for none), jid, time to live in ms
-- Result   how many came in: all, or none where the batch is remembered
-- O(log M) per job into a set of M members

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]

-- A key of the wrong type must stop us before anything is written.
for i = 3, #ARGV, 6 do
  if string.sub(ARGV[i], 1, 6) == 'queue:' then call('LLEN', ARGV[i]) else call('ZCARD', ARGV[i]) end
end

if not call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[2]) then return 0 end
local due = false
for i = 3, #ARGV, 6 do
  local to, at, payload, lock, jid, ttl = unpack(ARGV, i, i + 5)
  if string.sub(to, 1, 6) == 'queue:' then
    call('LPUSH', to, payload)
    pushed(string.sub(to, 7), 1)
  else
    due = due or to ~= 'dead'
    add(to, at, payload)
  end
  if lock ~= '' then
    local till = string.match(call('GET', 'jobs:unique:' .. lock) or '', '^(%d+) ')
    if not till or tonumber(till) <= now then
      -- The stated end counts; Redis only sweeps up, later.
      call('SET', 'jobs:unique:' .. lock, string.format('%d', now + ttl) .. ' ' .. jid, 'PX', ttl + 60000)
      call('SET', 'jobs:unique-of:' .. jid, lock, 'PX', ttl + 60000)
    end
  end
end
-- It fails where the user may not publish; pollers then see it a second later.
if due then redis.pcall('PUBLISH', 'jobs:wake', 'due') end
return (#ARGV - 2) / 6
