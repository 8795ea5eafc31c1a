-- Before the text of each script: the time of the simulation instead of the server's, and nothing random. Keys expire when the
-- simulation says so (see `EXPIRE`), not when the server's clock does. Messages are kept for the simulation to deliver.
local redis = (function(real)
  local run = real.call
  local function text(value) return string.format('%.0f', value) end
  local function now() return tonumber(run('GET', 'sim:now')) end
  -- The server keeps the time at which a key expires, so far in the future that it doesn't come; sim:expiry has when to look for it.
  local FAR = 1e13
  local function expire(key, ms)
    if ms <= 0 then return run('DEL', key) end
    local at = now() + ms
    local isSet = run('PEXPIREAT', key, text(at + FAR))
    if isSet == 1 then run('ZADD', 'sim:expiry', text(at), key) end
    return isSet
  end
  local function left(key)
    local at = run('PEXPIRETIME', key)
    return at < 0 and at or at - FAR - now()
  end
  -- The order of a set differs from server to server.
  local function sorted(members)
    if #members > 1 then table.sort(members) end
    return members
  end
  -- Returns members of a list, from one on that differs with the time. Without a count: one.
  local function some(members, count)
    sorted(members)
    local from = #members > 0 and now() * 7919 % #members or 0
    if not count then return members[from + 1] or false end
    local chosen = {}
    for i = 0, math.min(tonumber(count), #members) - 1 do chosen[i + 1] = members[(from + i) % #members + 1] end
    return chosen
  end
  local own = {
    TIME = function()
      local ms = now()
      return { text(math.floor(ms / 1000)), text(ms % 1000 * 1000) }
    end,
    EXPIRE = function(key, s) return expire(key, tonumber(s) * 1000) end,
    PEXPIRE = function(key, ms) return expire(key, tonumber(ms)) end,
    PTTL = left,
    TTL = function(key)
      local ms = left(key)
      return ms > 0 and math.floor((ms + 500) / 1000) or ms
    end,
    SET = function(key, value, ...)
      local rest, ttl = {}, nil
      local options = { ... }
      local i = 1
      while i <= #options do
        if options[i] == 'PX' or options[i] == 'EX' then
          ttl = tonumber(options[i + 1]) * (options[i] == 'EX' and 1000 or 1)
          i = i + 2
        else
          rest[#rest + 1] = options[i]
          i = i + 1
        end
      end
      local reply = run('SET', key, value, unpack(rest))
      if reply and ttl then expire(key, ttl) end
      return reply
    end,
    PUBLISH = function(channel, message)
      run('RPUSH', 'sim:messages', channel, message)
      return 1
    end,
    XADD = function(key, ...)
      local rest = { ... }
      local last = run('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
      for i, word in ipairs(rest) do
        if word == '*' then
          rest[i] = text(math.max(now(), last and tonumber(string.match(last[1], '^%d+')) or 0)) .. '-*'
          break
        end
      end
      return run('XADD', key, unpack(rest))
    end,
    SRANDMEMBER = function(key, count) return some(run('SMEMBERS', key), count) end,
    ZRANDMEMBER = function(key, count) return some(run('ZRANGE', key, 0, -1), count) end,
    HRANDFIELD = function(key, count, withValues)
      local fields = some(run('HKEYS', key), count)
      if not withValues then return fields end
      local both = {}
      for _, field in ipairs(fields) do
        both[#both + 1] = field
        both[#both + 1] = run('HGET', key, field)
      end
      return both
    end,
    PUBSUB = function(_, channel) return { channel, 1 } end,
    SMEMBERS = function(key) return sorted(run('SMEMBERS', key)) end,
    SUNION = function(...) return sorted(run('SUNION', ...)) end,
    SCAN = function(_, ...)
      local options, pattern, kind = { ... }, '*', nil
      for i = 1, #options, 2 do
        if options[i] == 'MATCH' then pattern = options[i + 1] elseif options[i] == 'TYPE' then kind = options[i + 1] end
      end
      local found = {}
      for _, key in ipairs(run('KEYS', pattern)) do
        if string.sub(key, 1, 4) ~= 'sim:' and (not kind or run('TYPE', key).ok == kind) then found[#found + 1] = key end
      end
      table.sort(found)
      return { '0', found }
    end,
  }
  local function call(name, ...)
    local mine = own[name]
    if mine then return mine(...) end
    return run(name, ...)
  end
  local function pcalled(name, ...)
    local mine = own[name]
    if not mine then return real.pcall(name, ...) end
    local fine, reply = pcall(mine, ...)
    return fine and reply or { err = tostring(reply) }
  end
  return setmetatable({ call = call, pcall = pcalled }, { __index = real })
end)(redis)
