-- Included in every script that calls it. Returns the payload of a job, decoded, if it has a field. Any program writes payloads: with
-- spaces, escapes, and in any order, and arguments may contain the same text. The search is cheap, and few payloads that contain the name
-- lack the field. The searched text doesn't begin with a quotation mark: payloads have many, and the search would stop at each.
local function payloadWith(name, payload)
  if not string.find(payload, name .. '"', 1, true) then return end
  local fine, job = pcall(cjson.decode, payload)
  if fine and type(job) == 'table' and job[name] ~= nil then return job end
end
