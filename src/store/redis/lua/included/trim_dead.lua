-- Included after job.lua and batch.lua, whose `countMembers` must follow: drops dead jobs that are too old, and the oldest ones beyond the
-- limit. Returns how many. Drops at most 1,000 at once: after the limit was lowered there may be a million too many, which the
-- next burials drop.
local function trimDead(now, max, ageMs)
  local old = redis.call('ZCOUNT', 'dead', '-inf', string.format('(%.3f', (now - ageMs) / 1000))
  local over = redis.call('ZCARD', 'dead') - max
  local drop = math.min(math.max(old, over), 1000)
  if drop <= 0 then return 0 end
  for _, member in ipairs(redis.call('ZRANGE', 'dead', 0, drop - 1)) do
    local batch, counted, node = memberOf(member)
    if batch then noteMember(batch, counted, 'deleted', node) end
    local job = jobWith(member, 'has_steps"')
    if job and job.has_steps and type(job.jid) == 'string' then redis.call('UNLINK', 'jobs:steps:' .. job.jid) end
  end
  return redis.call('ZREMRANGEBYRANK', 'dead', 0, drop - 1)
end
