#!lua
-- Announces a batch of entries that is about to go to another store. There is one at a time.
--
-- KEYS[1]  jobs:announced, the last batch
-- ARGV     id of the batch, the refs of its entries (JSON)
-- Result   id and refs of the batch: this one, or the one before it, if that has not gone
-- O(1)

local call = redis.call
local batch = call('HMGET', KEYS[1], 'id', 'refs')
if batch[2] then return batch end
call('DEL', KEYS[1])
call('HSET', KEYS[1], 'id', ARGV[1], 'refs', ARGV[2])
return ARGV
