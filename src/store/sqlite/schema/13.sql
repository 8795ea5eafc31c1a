-- The steps of jobs. The IDs are in the order in which they were first written. A row without a name prevents the job from
-- sleeping: a wait of it ended while it ran.
CREATE TABLE step (
  id INTEGER PRIMARY KEY,
  jid TEXT NOT NULL,
  name TEXT NOT NULL,
  record TEXT NOT NULL, -- JSON: see src/job/step.ts
  UNIQUE (jid, name)
) STRICT;

-- Which steps wait for which signal, oldest first.
CREATE TABLE step_wait (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  jid TEXT NOT NULL,
  name TEXT NOT NULL
) STRICT;
CREATE INDEX step_wait_key ON step_wait (key, id);
CREATE INDEX step_wait_jid ON step_wait (jid);

-- Signals that no job waits for yet.
CREATE TABLE signal (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  data TEXT NOT NULL, -- JSON
  expires INTEGER NOT NULL
) STRICT;
CREATE INDEX signal_key ON signal (key, id);
CREATE INDEX signal_expires ON signal (expires);
