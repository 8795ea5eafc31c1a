-- At most one row: the last batch of jobs that went, or is about to go, to another store.
CREATE TABLE departure (
  id TEXT NOT NULL,
  refs TEXT, -- JSON; null: it has gone
  gone INTEGER -- how many of its jobs were there
) STRICT;
