--- part flow: job batch pushOnce
-- The nodes of flows, in the hashes jobs:flow:ID. Per node NAME: s:NAME "STATE MS", n:NAME how many
-- nodes it waits for, j:NAME its job and class (JSON), f:NAME the names after it (JSON), p:NAME its payload while it waits,
-- r:NAME its result (JSON), x:NAME the effect of its end on the nodes after it ("run" or "cancel"), pos:NAME the progress
-- of that.
-- jobs:flow:ID:nodes lists the names in order, jobs:flow:ID:roots those that wait for none. jobs:flows:pending lists the
-- effects that are yet to be applied, "ID NAME"; the name is "" for the start of a flow, and "*" for its end.
local START, ALL, TEND_LIMIT = '', '*', 100

-- Notes the effect of a node, or of the start or the end of a flow, on the nodes after it, once.
local function noteEffect(id, name, effect)
  if redis.call('HSETNX', 'jobs:flow:' .. id, 'x:' .. name, effect) == 1 then
    redis.call('RPUSH', 'jobs:flows:pending', id .. ' ' .. name)
  end
end

-- Notes the effect of a node's end on the nodes after it: they run, or are cancelled.
local function noteEffectOf(id, name, state)
  local ok, spec = pcall(cjson.decode, redis.call('HGET', 'jobs:flow:' .. id, 'j:' .. name) or '')
  if not ok or type(spec) ~= 'table' or state == 'waiting' or state == 'pending' then return end
  if state == 'succeeded' or spec.onDead == 'continue' then
    noteEffect(id, name, 'run')
  elseif state ~= 'dead' or spec.onDead == 'cancel' then
    noteEffect(id, name, 'cancel')
  end
end

local function setNode(now, id, name, state)
  redis.call('HDEL', 'jobs:flow:' .. id, 'p:' .. name)
  redis.call('HSET', 'jobs:flow:' .. id, 's:' .. name, string.format('%s %.0f', state, now))
end

-- Returns the job of a node for pushOnce; nil if it can't be read.
local function jobOf(now, id, name, payload)
  local fine, spec = pcall(cjson.decode, redis.call('HGET', 'jobs:flow:' .. id, 'j:' .. name) or '')
  if not payload or not fine or type(spec) ~= 'table' or type(spec.queue) ~= 'string' then return nil end
  local at = math.max(tonumber(spec.at) or 0, now + (tonumber(spec.delayMs) or 0))
  return { queue = spec.queue, payload = payload, at = at }
end

-- Applies the effect of a node to one of its followers.
local applyEffect
function applyEffect(now, wire, id, name, source, effect)
  local call = redis.call
  local key = 'jobs:flow:' .. id
  local state, payload = unpack(call('HMGET', key, 's:' .. name, 'p:' .. name))
  if not state or string.sub(state, 1, 7) ~= 'waiting' then return end
  if effect == 'cancel' then
    setNode(now, id, name, 'cancelled')
    noteMember(id, 'pending', 'cancelled')
    noteWaiting(id, -1)
    -- The end of the flow reaches every node by itself.
    if source ~= ALL then noteEffectOf(id, name, 'cancelled') end
    return
  end
  if source ~= START and call('HINCRBY', key, 'n:' .. name, -1) > 0 then return end
  local job = jobOf(now, id, name, payload)
  if not job then return applyEffect(now, wire, id, name, source, 'cancel') end
  setNode(now, id, name, 'pending')
  noteWaiting(id, -1)
  pushOnce(now, wire, job)
end

-- Returns the followers of a node from a position on, at most `limit`, and whether more follow.
local function followersOf(key, source, from, limit)
  local call = redis.call
  if source == START or source == ALL then
    local list = key .. (source == START and ':roots' or ':nodes')
    return call('LRANGE', list, from, from + limit - 1), from + limit < call('LLEN', list)
  end
  local fine, all = pcall(cjson.decode, call('HGET', key, 'f:' .. source) or '[]')
  local names = {}
  if not fine or type(all) ~= 'table' then return names, false end
  for i = from + 1, math.min(from + limit, #all) do names[#names + 1] = all[i] end
  return names, from + limit < #all
end

-- Pushes and cancels nodes whose time has come, at most `limit`.
local function spread(now, limit)
  local call = redis.call
  while limit > 0 do
    local item = call('LINDEX', 'jobs:flows:pending', 0)
    if not item then return end
    local id, source = string.match(item, '^(%S+) (.*)$')
    if not id then id, source = '', '' end
    local key = 'jobs:flow:' .. id
    local closedAs, wire = unpack(call('HMGET', 'jobs:batch:' .. id, 'closed_as', 'wire'))
    local effect, from = unpack(call('HMGET', key, 'x:' .. source, 'pos:' .. source))
    local names, hasMore = {}, false
    if closedAs and effect then names, hasMore = followersOf(key, source, tonumber(from or 0), limit) end
    -- Nothing of a flow that has been cancelled starts.
    if closedAs ~= 'closed' then effect = 'cancel' end
    for _, name in ipairs(names) do apart(applyEffect, now, wire, id, name, source, effect) end
    if hasMore then
      call('HINCRBY', key, 'pos:' .. source, #names)
    else
      call('LPOP', 'jobs:flows:pending')
      if from then call('HDEL', key, 'pos:' .. source) end
    end
    limit = limit - math.max(1, #names)
  end
end

-- Applies the noted changes, and pushes the callbacks that follow, and the nodes after those that have ended.
local function countMembers(now)
  local nodes = notedNodes
  notedNodes = nil
  for _, change in ipairs(nodes or {}) do
    local id, name, state, result = unpack(change)
    local key = 'jobs:flow:' .. id
    if redis.pcall('HEXISTS', key, 's:' .. name) == 1 then
      setNode(now, id, name, state)
      if result ~= '' then redis.call('HSET', key, 'r:' .. name, result) end
      apart(noteEffectOf, id, name, state)
    end
  end
  countNoted(now)
  if nodes then
    -- Each end may have one node after it without delaying the others.
    apart(spread, now, TEND_LIMIT + #nodes)
    countNoted(now)
  end
end

-- Starts a flow that was closed, or cancels what waits in it.
local function endFlow(now, id, as)
  if redis.call('EXISTS', 'jobs:flow:' .. id) == 0 then return end
  noteEffect(id, as == 'closed' and START or ALL, as == 'closed' and 'run' or 'cancel')
  spread(now, TEND_LIMIT)
  countNoted(now)
end

--- script flowAdd(; now, id, nodes[name, needs, spec, followers, payload]): job batch flow
-- Stores nodes of an open flow. Sent again because its reply was lost, it changes nothing.
--
-- nodes    needs: how many nodes it waits for; spec: its job (JSON); followers: names after it (JSON); payload: without its brace
-- Result   "", or why the flow accepts no nodes
-- O(N) for N nodes

local call = redis.call
local key = 'jobs:flow:' .. id
-- Fail on a key of the wrong type before anything is written.
call('HLEN', key)
call('LLEN', key .. ':nodes')
call('LLEN', key .. ':roots')
local refusal = refusalOf(id, '', '')
if refusal then return refusal end
for _, node in ipairs(nodes) do
  local name, needs = node.name, node.needs
  if call('HSETNX', key, 's:' .. name, string.format('waiting %.0f', now)) == 1 then
    call('HSET', key, 'n:' .. name, needs, 'j:' .. name, node.spec, 'f:' .. name, node.followers, 'p:' .. name, node.payload)
    call('RPUSH', key .. ':nodes', name)
    if needs == '0' then call('RPUSH', key .. ':roots', name) end
    noteMember(id, '', 'pending')
    noteWaiting(id, 1)
  end
end
apart(countMembers, now)
return ''
