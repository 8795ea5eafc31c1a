-- Paused groups of queues.
CREATE TABLE group_pause (
  queue INTEGER NOT NULL,
  name TEXT NOT NULL,
  until INTEGER, -- null: until it is resumed
  PRIMARY KEY (queue, name)
) STRICT, WITHOUT ROWID;
