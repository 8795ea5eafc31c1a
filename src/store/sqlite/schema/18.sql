-- Jobs in `scheduled` that the next push with the same key replaces.
CREATE TABLE debounce (
  key TEXT PRIMARY KEY,
  job INTEGER NOT NULL,
  first INTEGER NOT NULL -- when the first push of this wait came
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX debounce_job ON debounce (job);
CREATE TRIGGER debounce_end AFTER DELETE ON member WHEN OLD.place = 'scheduled' BEGIN
  DELETE FROM debounce WHERE job = OLD.job;
END;

-- Accepted pushes of throttles.
CREATE TABLE throttled (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  jid TEXT NOT NULL,
  at INTEGER NOT NULL,
  expires INTEGER NOT NULL
) STRICT;
CREATE INDEX throttled_key ON throttled (key, at);
CREATE INDEX throttled_expires ON throttled (expires);
