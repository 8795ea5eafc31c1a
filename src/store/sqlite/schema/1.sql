-- A job's content is one row of `job`. Where it is, is one row of one of three tables: `queued`, `lease`, `member`. So a
-- move never copies a payload; it deletes the one row and inserts the other, always in one transaction.
--
-- A job's id is its position: within a queue the smallest is the oldest. A job that is given back keeps its id and so
-- stands at the front again, in its old order. One that goes to the back of a queue becomes a new row of `job`.
CREATE TABLE job (
  id INTEGER PRIMARY KEY,
  jid TEXT, -- null where the payload has none
  payload TEXT NOT NULL
) STRICT;
CREATE INDEX job_jid ON job (jid);

-- Queues that have jobs, had some, or are paused.
CREATE TABLE queue (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  paused INTEGER NOT NULL DEFAULT 0,
  -- Jobs in it. Kept by whoever adds or removes them, so that no one has to count a million.
  size INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE queued (
  queue INTEGER NOT NULL,
  job INTEGER NOT NULL,
  PRIMARY KEY (queue, job)
) STRICT, WITHOUT ROWID;

-- As many rows as jobs are running or about to: small enough to be read whole where an owner's leases are wanted.
CREATE TABLE lease (
  job INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL,
  owner TEXT NOT NULL,
  take TEXT NOT NULL, -- name of the taking, never used again
  at INTEGER NOT NULL -- when it was taken
) STRICT;

-- Of the sets `scheduled`, `retry` and `dead`.
CREATE TABLE member (
  job INTEGER PRIMARY KEY,
  place TEXT NOT NULL,
  at INTEGER NOT NULL -- scheduled, retry: when it is due; dead: when it died
) STRICT;
CREATE INDEX member_at ON member (place, at, job);

-- How many members each set has: counting them would cost more, the more there are, at every job that dies.
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

-- Every job with its place, for people.
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

-- A released claim stays, for its fence.
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
