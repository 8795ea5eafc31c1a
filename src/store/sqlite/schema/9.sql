-- A worker's heartbeat timeout in ms, and since when its heartbeats have been continuous: whether others may be offline
-- rests on both.
ALTER TABLE process ADD COLUMN ttl INTEGER NOT NULL DEFAULT 0;
ALTER TABLE process ADD COLUMN since INTEGER NOT NULL DEFAULT 0;
