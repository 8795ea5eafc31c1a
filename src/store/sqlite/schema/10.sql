-- At most one row: the last batch of jobs that was migrated to another store, or is about to be.
CREATE TABLE departure (
  id TEXT NOT NULL,
  refs TEXT, -- JSON; null: it is migrated
  gone INTEGER -- how many of its jobs were deleted here
) STRICT;
