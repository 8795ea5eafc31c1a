-- Every job is one row, and its place is a column: it cannot be in two places, or in none.
-- The row's id is its position: within a queue, the smallest is the oldest. A job that is given back keeps its id and so
-- stands at the front again; one that comes from a set gets the next id.
CREATE TABLE job (
  id INTEGER PRIMARY KEY,
  place INTEGER NOT NULL, -- 0 queue, 1 leased, 2 scheduled, 3 retry, 4 dead
  queue TEXT NOT NULL,
  jid TEXT, -- null where the payload has none
  at INTEGER, -- leased: when it was taken; scheduled, retry: when it is due; dead: when it died
  owner TEXT, -- leased: by whom
  take INTEGER, -- leased: number of the taking, never used again
  payload TEXT NOT NULL
) STRICT;

-- Small indexes, each over the rows of its places only: a push writes two of them, and both at their end.
CREATE INDEX job_queued ON job (queue, id) WHERE place = 0;
CREATE INDEX job_leased ON job (owner, id) WHERE place = 1;
CREATE INDEX job_in_set ON job (place, at, id) WHERE place >= 2;
CREATE INDEX job_jid ON job (jid);

-- Queues that have jobs or had some.
CREATE TABLE queue (
  name TEXT PRIMARY KEY,
  paused INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

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
