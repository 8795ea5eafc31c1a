-- What a rescue has to know of a worker: the suspects that it runs, how it ended, and whether the suspects that had no
-- lease any more when it was found dead have been dropped already.
ALTER TABLE process ADD COLUMN suspects TEXT; -- JSON array of tokens
ALTER TABLE process ADD COLUMN alone INTEGER NOT NULL DEFAULT 0;
ALTER TABLE process ADD COLUMN judged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE process ADD COLUMN ended TEXT;
