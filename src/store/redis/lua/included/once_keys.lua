-- A unique lock holds "MS JID", and a once key "MS JID" or "MS/FINGERPRINT JID": when they expire, and the job. That time counts;
-- Redis deletes the key later.
local function holderIn(now, line)
  local till, fingerprint, holder = string.match(line or '', '^(%d+)/?([%w_-]*) (.*)$')
  return till and tonumber(till) > now and holder, fingerprint
end

local function lineOf(till, jid, fingerprint)
  return string.format('%d', till) .. ((fingerprint or '') ~= '' and '/' .. fingerprint or '') .. ' ' .. jid
end
