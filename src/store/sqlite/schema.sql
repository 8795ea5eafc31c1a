-- The tables of a store, version 1. Once it has been released, this file stays as it is: `schema/2.sql` holds the first change.
-- Times are epoch milliseconds.

-- Jobs. A job's content is one row of `job`. Its place is one row of one of three tables: `queued`, `lease`, `member`. A move
-- never copies a payload: it deletes one row and inserts another, in one transaction.
--
-- A job's ID is its position: within a queue the smallest is the oldest. A released job keeps its ID and returns to its old
-- position. A job that moves to the back of a queue becomes a new row of `job`.

CREATE TABLE job (
  id INTEGER PRIMARY KEY,
  jid TEXT, -- null if the payload has none
  payload TEXT NOT NULL,
  batch TEXT -- the batch that the payload names
) STRICT;
CREATE INDEX job_jid ON job (jid);
-- Jobs without a batch cost nothing.
CREATE INDEX job_batch ON job (batch) WHERE batch IS NOT NULL;

CREATE TABLE queued (
  queue INTEGER NOT NULL,
  job INTEGER NOT NULL,
  PRIMARY KEY (queue, job)
) STRICT, WITHOUT ROWID;

-- One row per leased job: few enough to read all of them for the leases of one worker. It names its worker and its take by
-- numbers, because it is written twice per job, and their texts would be three quarters of it.
CREATE TABLE lease (
  job INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL,
  worker_id INTEGER NOT NULL, -- of `lease_worker`
  take INTEGER NOT NULL, -- unique among the takes of its worker
  at INTEGER NOT NULL, -- when it was taken
  -- 0: not from a group; 1: from a group; 2: from a group of a queue without limits of groups.
  from_group INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER -- not null: the job ends instead of returning to its queue when its worker goes offline
) STRICT;
-- Only for groups with limits: an entry per lease would take a twentieth of the throughput of the others.
CREATE INDEX lease_group ON lease (queue) WHERE from_group = 1;

-- The workers that have leases, or had some.
CREATE TABLE lease_worker (
  id INTEGER PRIMARY KEY,
  worker TEXT NOT NULL UNIQUE
) STRICT;

-- Members of the sets `scheduled`, `retry` and `dead`.
CREATE TABLE member (
  job INTEGER PRIMARY KEY,
  place TEXT NOT NULL,
  at INTEGER NOT NULL -- scheduled, retry: when it is due; dead: when it died
) STRICT;
CREATE INDEX member_at ON member (place, at, job);

-- Ended jobs whose rows of `job` are removed later, in the order of their numbers: see ended.ts.
CREATE TABLE ended (
  job INTEGER PRIMARY KEY
) STRICT;

-- The number of members of each set, kept by triggers. Counting them whenever a job dies would cost O(members).
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

-- Queues that have jobs, had some, are paused or limited, and their groups. A group of a queue is a separate row, named
-- QUEUE|GROUP, whose `parent` is the queue: see port/groups.ts.
CREATE TABLE queue (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  size INTEGER NOT NULL DEFAULT 0, -- number of jobs in it, so that no query counts a million rows
  paused INTEGER NOT NULL DEFAULT 0,
  paused_until INTEGER, -- null: paused until it is resumed
  -- The limits; null: unlimited.
  most_running INTEGER,
  most_starts INTEGER, -- in any starts_per ms
  starts_per INTEGER,
  parent INTEGER,
  state INTEGER NOT NULL DEFAULT 0, -- group: 0 without jobs, 1 ready, 2 held; 3 jobs aside: see job/aside.ts
  tag REAL NOT NULL DEFAULT 0, -- group: the virtual time of its next turn; queue: that of its jobs without a group
  due_at INTEGER, -- held group: when it becomes ready without another event; null: when one of its leases ends
  vtime REAL NOT NULL DEFAULT 0, -- queue: its virtual time
  grouped INTEGER NOT NULL DEFAULT 0 -- queue: number of jobs in its groups
) STRICT;
CREATE INDEX queue_turn ON queue (parent, state, tag) WHERE parent IS NOT NULL;
CREATE INDEX queue_due ON queue (parent, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX queue_held ON queue (state) WHERE state = 2;

-- A group that gets jobs becomes ready, at the queue's virtual time at the earliest. A group without jobs has no turn. A take
-- writes the tag of a group with its size, and all that follows from both: it changes the tag, other changes of the size don't.
CREATE TRIGGER group_size AFTER UPDATE OF size ON queue WHEN NEW.parent IS NOT NULL AND NEW.tag = OLD.tag BEGIN
  UPDATE queue SET grouped = grouped + NEW.size - OLD.size WHERE id = NEW.parent;
  UPDATE queue SET state = 1, tag = max(tag, (SELECT vtime FROM queue WHERE id = NEW.parent))
    WHERE id = NEW.id AND state = 0 AND NEW.size > 0;
  UPDATE queue SET state = 0, due_at = NULL WHERE id = NEW.id AND NEW.size = 0 AND state <> 3;
  DELETE FROM queue WHERE id = NEW.id AND NEW.size = 0 AND state = 3;
END;

-- The end of a lease makes its group ready. If the group is still at its limit, its next turn holds it again. A lease looks for
-- its group only while a group of any queue is held: with the index `queue_held` that costs next to nothing.
CREATE TRIGGER group_freed AFTER DELETE ON lease WHEN OLD.from_group = 1 AND EXISTS (SELECT 1 FROM queue WHERE state = 2) BEGIN
  UPDATE queue SET state = 1, due_at = NULL, tag = max(tag, (SELECT vtime FROM queue AS parent WHERE parent.id = queue.parent))
    WHERE id = OLD.queue AND state = 2;
END;

-- The limit of a group. An empty name: of each group of the queue without a separate limit.
CREATE TABLE group_limit (
  queue INTEGER NOT NULL,
  name TEXT NOT NULL,
  most_running INTEGER,
  most_starts INTEGER,
  starts_per INTEGER,
  weight INTEGER,
  until INTEGER, -- null: until it is removed
  PRIMARY KEY (queue, name)
) STRICT, WITHOUT ROWID;

-- Paused groups.
CREATE TABLE group_pause (
  queue INTEGER NOT NULL,
  name TEXT NOT NULL,
  until INTEGER, -- null: until it is resumed
  PRIMARY KEY (queue, name)
) STRICT, WITHOUT ROWID;

-- When jobs of limited queues and groups were taken, while that counts.
CREATE TABLE start (
  queue INTEGER NOT NULL,
  at INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (queue, at)
) STRICT, WITHOUT ROWID;

-- Every job with its place, for operators. The name of a queue is in bytes: the driver cuts a text at a NUL, which a group may have.
CREATE VIEW entry AS
  SELECT job.id, job.jid, job.payload, 'queue' AS place, CAST(queue.name AS BLOB) AS queue, NULL AS at, NULL AS worker, NULL AS cancelled
    FROM job CROSS JOIN queue CROSS JOIN queued ON queued.queue = queue.id AND queued.job = job.id
  UNION ALL
  SELECT job.id, job.jid, job.payload, 'running', NULL, lease.at, lease_worker.worker, lease.cancelled
    FROM job CROSS JOIN lease ON lease.job = job.id CROSS JOIN lease_worker ON lease_worker.id = worker_id
  UNION ALL
  SELECT job.id, job.jid, job.payload, member.place, NULL, member.at, NULL, NULL
    FROM job CROSS JOIN member ON member.job = job.id;

-- Keys of pushes: what decides whether another push is stored.

CREATE TABLE unique_lock (
  key TEXT PRIMARY KEY,
  jid TEXT NOT NULL, -- the job that holds it
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX unique_lock_jid ON unique_lock (jid);
CREATE INDEX unique_lock_expires ON unique_lock (expires);

-- Keys of idempotent pushes: the job that was stored with each. Expired ones are found by reading all of them in turn: an index
-- costs each push more than that.
CREATE TABLE once_key (
  key TEXT PRIMARY KEY,
  jid TEXT NOT NULL,
  expires INTEGER NOT NULL,
  -- A digest of what was pushed, by which another push with the key is refused; empty: the key alone decides.
  fingerprint TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

-- One row: the key at which the next reading begins.
CREATE TABLE once_sweep (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  key TEXT NOT NULL
) STRICT;
INSERT INTO once_sweep VALUES (1, '');

-- Jobs in `scheduled` that the next push with the same key replaces. One that leaves the set is forgotten.
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

-- Workers.

-- A worker judges others by its heartbeat timeout and the first of its continuous heartbeats. A rescue reads the suspects that
-- it runs, how it ended, and whether the suspects without a lease were dropped when it was found offline.
CREATE TABLE worker (
  id TEXT PRIMARY KEY,
  record TEXT NOT NULL, -- JSON
  heartbeat_at INTEGER NOT NULL,
  deadline INTEGER NOT NULL,
  ttl INTEGER NOT NULL DEFAULT 0, -- the timeout in ms
  since INTEGER NOT NULL DEFAULT 0,
  suspects TEXT, -- JSON array of tokens
  alone INTEGER NOT NULL DEFAULT 0,
  judged INTEGER NOT NULL DEFAULT 0,
  ended TEXT
) STRICT, WITHOUT ROWID;

-- One live worker per name. A released name has no row.
CREATE TABLE worker_name (
  name TEXT PRIMARY KEY,
  worker TEXT NOT NULL,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Commands that their worker has not yet received, oldest first.
CREATE TABLE command (
  id INTEGER PRIMARY KEY,
  worker TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX command_worker ON command (worker);

CREATE TABLE reply (
  id TEXT PRIMARY KEY,
  body TEXT NOT NULL,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The options that workers declare for the classes they perform.
CREATE TABLE class (
  name TEXT PRIMARY KEY,
  options TEXT NOT NULL, -- JSON
  declared_at INTEGER NOT NULL -- the last declaration, up to a day old
) STRICT, WITHOUT ROWID;

-- The declarations of each worker: "class NAME" with its options, "webhook NAME" with its subscription, and "webhooks" if it has declared all
-- that it knows. The tables class and webhook have those in force.
CREATE TABLE declaration (
  worker TEXT NOT NULL,
  name TEXT NOT NULL,
  body TEXT NOT NULL, -- JSON
  position INTEGER NOT NULL, -- among the webhooks of its worker
  since INTEGER NOT NULL,
  PRIMARY KEY (worker, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX declaration_name ON declaration (name);

-- At most one row: which webhook gets which events.
CREATE TABLE webhook (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  subscriptions TEXT NOT NULL -- JSON
) STRICT;

-- Events: see port/events.ts.

CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  body TEXT NOT NULL -- JSON
) STRICT;
-- At most one row: until when events are recorded.
CREATE TABLE event_log (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  until INTEGER NOT NULL,
  keep INTEGER NOT NULL, -- milliseconds
  trimmed INTEGER NOT NULL DEFAULT 0 -- the ID of the last event that was dropped
) STRICT;
-- Gives each event its ID.
CREATE VIEW new_event AS SELECT at, body FROM event;
CREATE TRIGGER new_event_in INSTEAD OF INSERT ON new_event BEGIN
  INSERT INTO event (id, at, body)
    SELECT max(coalesce(max(id), 0) + 1, (SELECT trimmed + 1 FROM event_log), NEW.at * 1024), NEW.at, NEW.body FROM event;
END;

-- Cron entries. A write names the version that it read: see port/cron.ts.

CREATE TABLE cron (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  definition TEXT NOT NULL,
  state TEXT NOT NULL,
  live TEXT, -- jid
  awaited INTEGER NOT NULL, -- 1: a scheduler waits for the end of `live`
  seen_at INTEGER NOT NULL,
  shared INTEGER NOT NULL, -- 1: any worker may decide on it
  tags TEXT NOT NULL, -- one a line
  next INTEGER NOT NULL -- when to decide on it; 2^53 - 1: not before it changes
) STRICT, WITHOUT ROWID;
CREATE INDEX cron_live ON cron (live) WHERE live IS NOT NULL;
CREATE INDEX cron_next ON cron (shared, next, name);

CREATE TABLE cron_tag (
  tag TEXT NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (tag, name)
) STRICT, WITHOUT ROWID;

-- One row: the last version, the numbers of announced changes and of entries, and the time of the latest write.
CREATE TABLE cron_counter (
  version INTEGER NOT NULL,
  changes INTEGER NOT NULL,
  entries INTEGER NOT NULL,
  latest INTEGER NOT NULL
) STRICT;
INSERT INTO cron_counter (version, changes, entries, latest) VALUES (0, 0, 0, 0);

-- Durable steps of jobs. The IDs are in the order in which they were first written. A row without a name prevents the job from
-- sleeping: a wait of it ended while it ran.

CREATE TABLE step (
  id INTEGER PRIMARY KEY,
  jid TEXT NOT NULL,
  name TEXT NOT NULL,
  record TEXT NOT NULL, -- JSON: see src/job/step.ts
  UNIQUE (jid, name)
) STRICT;

-- Which steps wait for which signal, oldest first, and when they time out.
CREATE TABLE step_wait (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  jid TEXT NOT NULL,
  name TEXT NOT NULL,
  until INTEGER NOT NULL
) STRICT;
CREATE INDEX step_wait_key ON step_wait (key, id);
CREATE INDEX step_wait_jid ON step_wait (jid);
CREATE INDEX step_wait_until ON step_wait (until, id);

-- Signals that no job waits for yet.
CREATE TABLE signal (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  data TEXT NOT NULL, -- JSON
  expires INTEGER NOT NULL
) STRICT;
CREATE INDEX signal_key ON signal (key, id);
CREATE INDEX signal_expires ON signal (expires);

-- The number of sleeps and waits that have not ended, by kind, kept by triggers. A waiting record begins with its state, and
-- that of a sleep has no kind.
CREATE TABLE step_waits (
  kind TEXT PRIMARY KEY,
  count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO step_waits VALUES ('sleep', 0), ('wait', 0), ('child', 0);
CREATE TRIGGER step_waits_insert AFTER INSERT ON step WHEN new.record LIKE '{"state":"waiting"%' BEGIN
  UPDATE step_waits SET count = count + 1 WHERE kind = coalesce(new.record ->> '$.kind', 'sleep');
END;
CREATE TRIGGER step_waits_update AFTER UPDATE OF record ON step BEGIN
  UPDATE step_waits SET count = count - 1
    WHERE old.record LIKE '{"state":"waiting"%' AND kind = coalesce(old.record ->> '$.kind', 'sleep');
  UPDATE step_waits SET count = count + 1
    WHERE new.record LIKE '{"state":"waiting"%' AND kind = coalesce(new.record ->> '$.kind', 'sleep');
END;
CREATE TRIGGER step_waits_delete AFTER DELETE ON step WHEN old.record LIKE '{"state":"waiting"%' BEGIN
  UPDATE step_waits SET count = count - 1 WHERE kind = coalesce(old.record ->> '$.kind', 'sleep');
END;

-- Streams: what jobs print while they run. A part has the chunks of one write. They stay with the record of the ended job.
CREATE TABLE stream (
  jid TEXT PRIMARY KEY,
  token TEXT NOT NULL, -- the lease that wrote last
  run INTEGER NOT NULL, -- how many leases have written
  written INTEGER NOT NULL, -- chunks that the lease has written or dropped
  last INTEGER NOT NULL, -- the number of the last chunk
  size INTEGER NOT NULL, -- bytes of the parts
  ended INTEGER NOT NULL DEFAULT 0, -- 1: the job has ended
  record INTEGER, -- of the job that has ended
  expires INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX stream_expires ON stream (expires) WHERE expires IS NOT NULL;
CREATE INDEX stream_record ON stream (record) WHERE record IS NOT NULL;
CREATE TABLE stream_part (
  id INTEGER PRIMARY KEY,
  jid TEXT NOT NULL,
  last INTEGER NOT NULL, -- the number of its last chunk
  run INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  body TEXT NOT NULL, -- JSON: a list
  UNIQUE (jid, last)
) STRICT;

-- Batches: counters of jobs that belong together. The payload of a member has the state in which it is counted
-- (src/job/batch.ts), and the counters change in the transaction that changes it.

CREATE TABLE batch (
  id TEXT PRIMARY KEY, -- sorts by age
  spec TEXT NOT NULL, -- JSON: name, tags, callbacks
  flow INTEGER, -- 1: it is a flow
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
  waiting INTEGER NOT NULL DEFAULT 0, -- of the pending ones: nodes that are in flow_node only
  dead INTEGER NOT NULL DEFAULT 0,
  succeeded INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0,
  expired INTEGER NOT NULL DEFAULT 0,
  deleted INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX batch_due ON batch (due) WHERE due IS NOT NULL;
CREATE INDEX batch_flow ON batch (flow, id);
CREATE INDEX batch_parent ON batch (parent) WHERE parent IS NOT NULL;

-- Flows: batches whose members run after each other.
CREATE TABLE flow_node (
  id INTEGER PRIMARY KEY,
  flow TEXT NOT NULL,
  name TEXT NOT NULL,
  position INTEGER NOT NULL,
  spec TEXT NOT NULL, -- JSON: jid, class, queue, group, delayMs, at, onDead, after
  followers TEXT NOT NULL, -- JSON: names
  needs INTEGER NOT NULL, -- nodes it still waits for
  state TEXT NOT NULL,
  changed INTEGER NOT NULL,
  effect TEXT, -- what its end did to its followers, or does
  payload TEXT, -- while it waits
  result TEXT -- JSON
) STRICT;
CREATE UNIQUE INDEX flow_node_name ON flow_node (flow, name);
CREATE UNIQUE INDEX flow_node_position ON flow_node (flow, position);

-- Ends of nodes whose followers are yet to be pushed or cancelled, from the position on. Source '' is the start of the flow,
-- whose followers are the nodes that wait for none; '*' is its end, which cancels every node.
CREATE TABLE flow_pending (
  id INTEGER PRIMARY KEY,
  flow TEXT NOT NULL,
  source TEXT NOT NULL,
  effect TEXT NOT NULL,
  position INTEGER NOT NULL DEFAULT 0,
  UNIQUE (flow, source)
) STRICT;

-- Figures and logs. No job depends on them.

-- `processed`, `failed`, and each with a UTC day: `processed:2026-11-21`.
CREATE TABLE total (
  name TEXT PRIMARY KEY,
  count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Records of ended jobs. The IDs are in the order of their ends.
CREATE TABLE record (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  jid TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL,
  expires INTEGER -- null: kept until newer records displace it
) STRICT;
CREATE INDEX record_expires ON record (expires) WHERE expires IS NOT NULL;

-- Metrics of each class in each time step: steps of a minute for 8 hours, of ten minutes for 72 hours.
CREATE TABLE measure (
  step INTEGER NOT NULL, -- its length in ms
  at INTEGER NOT NULL, -- when it began
  class TEXT NOT NULL,
  processed INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  worked INTEGER NOT NULL, -- ms of the attempts that did not fail
  -- The histogram of run times: one column per bound.
  h0 INTEGER NOT NULL, h1 INTEGER NOT NULL, h2 INTEGER NOT NULL, h3 INTEGER NOT NULL, h4 INTEGER NOT NULL,
  h5 INTEGER NOT NULL, h6 INTEGER NOT NULL, h7 INTEGER NOT NULL, h8 INTEGER NOT NULL, h9 INTEGER NOT NULL,
  h10 INTEGER NOT NULL, h11 INTEGER NOT NULL, h12 INTEGER NOT NULL, h13 INTEGER NOT NULL, h14 INTEGER NOT NULL,
  h15 INTEGER NOT NULL, h16 INTEGER NOT NULL, h17 INTEGER NOT NULL, h18 INTEGER NOT NULL, h19 INTEGER NOT NULL,
  h20 INTEGER NOT NULL, h21 INTEGER NOT NULL, h22 INTEGER NOT NULL, h23 INTEGER NOT NULL, h24 INTEGER NOT NULL,
  h25 INTEGER NOT NULL,
  PRIMARY KEY (step, at, class)
) STRICT, WITHOUT ROWID;

-- Depth of queues and age of their oldest jobs: the largest values of each time step.
CREATE TABLE queue_sample (
  step INTEGER NOT NULL, -- its length in ms
  at INTEGER NOT NULL, -- when it began
  queue TEXT NOT NULL,
  size INTEGER NOT NULL,
  latency INTEGER NOT NULL, -- milliseconds
  PRIMARY KEY (step, at, queue)
) STRICT, WITHOUT ROWID;

-- The audit log, and a log of each cron entry. The numbers of a log are consecutive, in the order of its entries.
CREATE TABLE log (
  name TEXT NOT NULL, -- see port/logs.ts
  number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (name, number)
) STRICT, WITHOUT ROWID;

-- The key that signs sessions and forms of the dashboard, and its live sessions: all processes that serve it share them.

CREATE TABLE session_key (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  value TEXT NOT NULL
) STRICT;
CREATE TABLE session (
  user TEXT NOT NULL,
  id TEXT NOT NULL,
  expires INTEGER NOT NULL,
  kept_until INTEGER NOT NULL,
  PRIMARY KEY (user, id)
) STRICT, WITHOUT ROWID;

-- At most one row: the last batch of jobs that was migrated to another store, or is about to be.
CREATE TABLE departure (
  id TEXT NOT NULL,
  refs TEXT, -- JSON; null: it is migrated
  gone INTEGER -- how many of its jobs were deleted here
) STRICT;
