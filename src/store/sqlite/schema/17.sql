-- Batches: counters of jobs that belong together. The payload of a member has the state in which it is counted (src/job/batch.ts).
CREATE TABLE batch (
  id TEXT PRIMARY KEY, -- sorts by age
  spec TEXT NOT NULL, -- JSON: name, tags, callbacks
  parent TEXT, -- the batch that counts this one as a member
  counted TEXT, -- how the parent counts it now
  created INTEGER NOT NULL,
  close_within INTEGER NOT NULL, -- milliseconds
  keep INTEGER NOT NULL, -- milliseconds
  closed INTEGER,
  closed_as TEXT, -- closed, cancelled, abandoned
  success_at INTEGER,
  complete_at INTEGER,
  death_at INTEGER,
  abandoned_at INTEGER,
  due INTEGER, -- open: when it is abandoned; finished: when it is removed
  version INTEGER NOT NULL DEFAULT 0,
  total INTEGER NOT NULL DEFAULT 0,
  pending INTEGER NOT NULL DEFAULT 0,
  dead INTEGER NOT NULL DEFAULT 0,
  succeeded INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0,
  expired INTEGER NOT NULL DEFAULT 0,
  deleted INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX batch_due ON batch (due) WHERE due IS NOT NULL;
