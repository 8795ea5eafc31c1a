-- The data that a rescue reads of a worker: the suspects that it runs, how it ended, and whether the suspects without a lease
-- were dropped when it was found offline.
ALTER TABLE process ADD COLUMN suspects TEXT; -- JSON array of tokens
ALTER TABLE process ADD COLUMN alone INTEGER NOT NULL DEFAULT 0;
ALTER TABLE process ADD COLUMN judged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE process ADD COLUMN ended TEXT;
