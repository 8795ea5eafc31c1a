#!lua
-- Announces a batch of entries that is about to be migrated to another store. Only one batch is announced at a time.
--
-- KEYS[1]  jobs:announced, the last batch
-- ARGV     ID of the batch, the refs of its entries (JSON)
-- Result   ID and refs of the announced batch: this one, or the one before it if that isn't migrated yet
-- O(1)

local call = redis.call
local batch = call('HMGET', KEYS[1], 'id', 'refs')
if batch[2] then return batch end
call('DEL', KEYS[1])
call('HSET', KEYS[1], 'id', ARGV[1], 'refs', ARGV[2])
return ARGV
