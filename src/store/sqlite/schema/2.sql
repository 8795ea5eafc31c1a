CREATE TABLE cron (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  definition TEXT NOT NULL,
  state TEXT NOT NULL,
  live TEXT, -- jid
  awaited INTEGER NOT NULL, -- 1: a scheduler waits for the end of `live`
  seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX cron_live ON cron (live) WHERE live IS NOT NULL;

CREATE TABLE cron_record (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  record TEXT NOT NULL
) STRICT;
CREATE INDEX cron_record_name ON cron_record (name, id);

-- One row: the last version, and the number of announced changes.
CREATE TABLE cron_counter (
  version INTEGER NOT NULL,
  told INTEGER NOT NULL
) STRICT;
INSERT INTO cron_counter (version, told) VALUES (0, 0);
