-- The limits of a queue; null: unlimited.
ALTER TABLE queue ADD COLUMN most_running INTEGER;
ALTER TABLE queue ADD COLUMN most_starts INTEGER; -- in any starts_per ms
ALTER TABLE queue ADD COLUMN starts_per INTEGER;

-- When jobs of limited queues were taken, while that counts.
CREATE TABLE start (
  queue INTEGER NOT NULL,
  at INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (queue, at)
) STRICT, WITHOUT ROWID;
