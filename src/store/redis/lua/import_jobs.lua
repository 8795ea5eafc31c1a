#!lua
-- Imports a batch of jobs of another store, once.
--
-- KEYS[1]  jobs:imported:BATCH
-- ARGV     offset of the clock in ms, ms to keep that key,
--          then per job: its place (queue:NAME or a set), its time in ms in a set, payload,
--            key of its unique lock ("" for none), jid, TTL of the lock in ms,
--            key of its debounce ("" for none), ms at which its wait began, jid
-- Result   how many were imported: all, or none if the batch was imported before
-- O(log M) per job into a set of M members

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]

-- Fail on a key of the wrong type before anything is written.
for i = 3, #ARGV, 9 do
  if string.sub(ARGV[i], 1, 6) == 'queue:' then checkQueue(string.sub(ARGV[i], 7)) else call('ZCARD', ARGV[i]) end
  if ARGV[i + 3] ~= '' then call('STRLEN', 'jobs:unique:' .. ARGV[i + 3]) end
  if ARGV[i + 6] ~= '' then call('STRLEN', 'jobs:debounce:' .. ARGV[i + 6]) end
end

if not call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[2]) then return 0 end
local due = false
for i = 3, #ARGV, 9 do
  local to, at, payload, lock, jid, ttl, debounced, first, waiting = unpack(ARGV, i, i + 8)
  local text = payload
  if string.sub(to, 1, 6) == 'queue:' then
    call('LPUSH', to, payload)
    notePush(string.sub(to, 7), 1)
  else
    due = due or to ~= 'dead'
    local job = to == 'schedule' and jobWith(payload, 'has_steps"')
    if job and job.has_steps and type(job.jid) == 'string' then
      at = apart(noteSleep, now, job.jid, tonumber(at)) or tonumber(at)
    end
    text = addMember(to, at, payload)
    local other = debounced ~= '' and string.match(call('GET', 'jobs:debounce:' .. debounced) or '', '^%d+ %S+ (.*)$')
    if debounced ~= '' and not (other and call('ZSCORE', to, other)) then
      keepDebounce(debounced, math.min(tonumber(first), now), waiting, text, math.max(0, at - now))
    end
  end
  if lock ~= '' then
    local till = string.match(call('GET', 'jobs:unique:' .. lock) or '', '^(%d+) ')
    if not till or tonumber(till) <= now then
      -- The time in the value counts. Redis deletes the key later.
      call('SET', 'jobs:unique:' .. lock, string.format('%d', now + ttl) .. ' ' .. jid, 'PX', ttl + 60000)
      call('SET', 'jobs:unique-of:' .. jid, lock, 'PX', ttl + 60000)
      noteReplaceable(to, text)
    end
  end
end
-- The user may lack the permission to publish: pollers then see the job a second later.
if due then redis.pcall('PUBLISH', 'jobs:wake', 'due') end
return (#ARGV - 2) / 9
