-- A worker's heartbeat timeout in ms, and the first of its continuous heartbeats: it judges other workers by both.
ALTER TABLE process ADD COLUMN ttl INTEGER NOT NULL DEFAULT 0;
ALTER TABLE process ADD COLUMN since INTEGER NOT NULL DEFAULT 0;
