-- Included: returns when a job was enqueued, in ms: its last field, unless another program wrote it. A large payload isn't parsed.
local function enqueuedAt(payload)
  local at = string.match(string.sub(payload, -64), ',"enqueued_at":([%d.]+)}$')
  if not at and #payload <= 2048 then
    local fine, job = pcall(cjson.decode, payload)
    at = fine and type(job) == 'table' and job.enqueued_at
  end
  at = tonumber(at or nil)
  return at and (at < 1e11 and at * 1000 or at)
end
