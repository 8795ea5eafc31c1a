#!lua
-- Opens a batch. Sent again because its reply was lost, it changes nothing.
--
-- KEYS[1]  jobs:batch:ID
-- ARGV     offset of the clock in ms, id, parent ("" for none), worker and token of the running member of the parent that adds
--          this one ("" for none), close within ms, keep for ms, wire (7 or 8), "1" for a flow or "", its description for
--          operators and other stores (JSON), its once key, TTL in ms and fingerprint ("" for none), per callback: event, queue,
--          payload without its closing brace
-- Result   "", or why the parent accepts no members; or "=" and the ID of the batch that was opened with the once key; or "#" and
--          that ID if the fingerprints differ
-- O(log N) for N batches

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local id, parent, worker, token, closeWithin, keep, wire, flow, spec, once, onceFor, fingerprint =
  unpack(ARGV, 2, 13)
local list = flow == '' and 'jobs:batches' or 'jobs:flows'
-- Fail on a key of the wrong type before anything is written.
call('ZCARD', list)
call('ZCARD', 'jobs:batches:due')
if call('HEXISTS', KEYS[1], 'id') == 1 then return '' end
local onceKey = 'jobs:once:' .. once
if once ~= '' then
  local first, mark = holderIn(now, call('GET', onceKey))
  -- Nothing of an abandoned flow has run.
  if first and redis.pcall('HGET', 'jobs:batch:' .. first, 'closed_as') ~= 'abandoned' then
    return (mark ~= '' and fingerprint ~= '' and mark ~= fingerprint and '#' or '=') .. first
  end
end
local refusal = parent ~= '' and refusalOf(parent, worker, token)
if refusal then return refusal end
local due = string.format('%.0f', now + closeWithin)
call('HSET', KEYS[1], 'id', id, 'spec', spec, 'created', now, 'close_within', closeWithin, 'keep', keep, 'wire', wire,
  'due', due, 'version', 0, 'total', 0, 'pending', 0, 'dead', 0, 'succeeded', 0, 'failed', 0, 'cancelled', 0,
  'expired', 0, 'deleted', 0)
if flow ~= '' then call('HSET', KEYS[1], 'flow', 1, 'waiting', 0) end
for i = 14, #ARGV, 3 do call('HSET', KEYS[1], ARGV[i] .. ':queue', ARGV[i + 1], ARGV[i] .. ':payload', ARGV[i + 2]) end
if once ~= '' then call('SET', onceKey, lineOf(now + onceFor, id, fingerprint), 'PX', onceFor + 60000) end
call('ZADD', list, 0, id)
call('ZADD', 'jobs:batches:due', due, id)
if parent ~= '' then
  call('HSET', KEYS[1], 'parent', parent, 'counted', 'pending')
  noteMember(parent, '', 'pending')
  countMembers(now)
end
return ''
