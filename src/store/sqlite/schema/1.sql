-- A job's content is one row of `job`. Its place is one row of one of three tables: `queued`, `lease`, `member`. A move never
-- copies a payload: it deletes one row and inserts another, in one transaction.
--
-- A job's ID is its position: within a queue the smallest is the oldest. A released job keeps its ID and returns to its old
-- position. A job that moves to the back of a queue becomes a new row of `job`.
CREATE TABLE job (
  id INTEGER PRIMARY KEY,
  jid TEXT, -- null if the payload has none
  payload TEXT NOT NULL
) STRICT;
CREATE INDEX job_jid ON job (jid);

-- Queues that have jobs, had some, or are paused.
CREATE TABLE queue (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  paused INTEGER NOT NULL DEFAULT 0,
  -- Number of jobs in it, so that no query counts a million rows.
  size INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE queued (
  queue INTEGER NOT NULL,
  job INTEGER NOT NULL,
  PRIMARY KEY (queue, job)
) STRICT, WITHOUT ROWID;

-- One row per leased job: few enough to read all of them for the leases of one worker.
CREATE TABLE lease (
  job INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL,
  owner TEXT NOT NULL,
  take TEXT NOT NULL, -- unique name of the take
  at INTEGER NOT NULL -- when it was taken
) STRICT;

-- Members of the sets `scheduled`, `retry` and `dead`.
CREATE TABLE member (
  job INTEGER PRIMARY KEY,
  place TEXT NOT NULL,
  at INTEGER NOT NULL -- scheduled, retry: when it is due; dead: when it died
) STRICT;
CREATE INDEX member_at ON member (place, at, job);

-- Number of members of each set. Counting them whenever a job dies would cost O(members).
CREATE TABLE set_size (
  place TEXT PRIMARY KEY,
  size INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO set_size VALUES ('scheduled', 0), ('retry', 0), ('dead', 0);
CREATE TRIGGER member_in AFTER INSERT ON member BEGIN
  UPDATE set_size SET size = size + 1 WHERE place = NEW.place;
END;
CREATE TRIGGER member_out AFTER DELETE ON member BEGIN
  UPDATE set_size SET size = size - 1 WHERE place = OLD.place;
END;

-- Every job with its place, for operators.
CREATE VIEW entry AS
  SELECT job.id, job.jid, job.payload, 'queue' AS place, queue.name AS queue, NULL AS at, NULL AS owner
    FROM job CROSS JOIN queue CROSS JOIN queued ON queued.queue = queue.id AND queued.job = job.id
  UNION ALL
  SELECT job.id, job.jid, job.payload, 'leased', NULL, lease.at, lease.owner
    FROM job CROSS JOIN lease ON lease.job = job.id
  UNION ALL
  SELECT job.id, job.jid, job.payload, member.place, NULL, member.at, NULL
    FROM job CROSS JOIN member ON member.job = job.id;

CREATE TABLE process (
  identity TEXT PRIMARY KEY,
  record TEXT NOT NULL,
  beat_at INTEGER NOT NULL,
  deadline INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE unique_lock (
  key TEXT PRIMARY KEY,
  jid TEXT NOT NULL,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX unique_lock_jid ON unique_lock (jid);
CREATE INDEX unique_lock_expires ON unique_lock (expires);

-- A released claim keeps its row, and with it its fencing number.
CREATE TABLE claim (
  name TEXT PRIMARY KEY,
  owner TEXT,
  fence INTEGER NOT NULL,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE command (
  id INTEGER PRIMARY KEY,
  identity TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX command_identity ON command (identity);

CREATE TABLE reply (
  id TEXT PRIMARY KEY,
  body TEXT NOT NULL,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- `processed`, `failed`, and each with a UTC day: `processed:2026-11-21`.
CREATE TABLE total (
  name TEXT PRIMARY KEY,
  count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
