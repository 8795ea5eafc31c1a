-- Included: drops dead jobs that are too old, and the oldest of those that are too many; returns how many.
local function trimDead(now, most, ageMs)
  return redis.call('ZREMRANGEBYSCORE', 'dead', '-inf', string.format('(%.3f', (now - ageMs) / 1000))
    + redis.call('ZREMRANGEBYRANK', 'dead', 0, -most - 1)
end
