-- A lease names its worker and its take by numbers: their texts were three quarters of its row, and a job's lease is written
-- twice. The new name of the column also stops processes of earlier versions. Leases of running workers lose their takes: those
-- workers stop, and their jobs are rescued.
DROP VIEW entry;

-- The workers that have leases, or had some.
CREATE TABLE lease_worker (
  id INTEGER PRIMARY KEY,
  worker TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO lease_worker (worker) SELECT DISTINCT worker FROM lease;

ALTER TABLE lease RENAME TO earlier_lease;
CREATE TABLE lease (
  job INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL,
  worker_id INTEGER NOT NULL,
  take INTEGER NOT NULL, -- unique among the takes of its worker
  at INTEGER NOT NULL, -- when it was taken
  from_group INTEGER NOT NULL DEFAULT 0 -- 0 no, 1 yes, 2 yes, of a queue without limits of groups
) STRICT;
INSERT INTO lease
  SELECT job, queue, lease_worker.id, 0, at, from_group FROM earlier_lease JOIN lease_worker USING (worker);
DROP TABLE earlier_lease;

CREATE INDEX lease_group ON lease (queue) WHERE from_group = 1;
CREATE TRIGGER group_freed AFTER DELETE ON lease WHEN OLD.from_group = 1 AND EXISTS (SELECT 1 FROM queue WHERE state = 2) BEGIN
  UPDATE queue SET state = 1, due_at = NULL, tag = max(tag, (SELECT vtime FROM queue AS parent WHERE parent.id = queue.parent))
    WHERE id = OLD.queue AND state = 2;
END;

CREATE VIEW entry AS
  SELECT job.id, job.jid, job.payload, 'queue' AS place, queue.name AS queue, NULL AS at, NULL AS worker
    FROM job CROSS JOIN queue CROSS JOIN queued ON queued.queue = queue.id AND queued.job = job.id
  UNION ALL
  SELECT job.id, job.jid, job.payload, 'running', NULL, lease.at, lease_worker.worker
    FROM job CROSS JOIN lease ON lease.job = job.id CROSS JOIN lease_worker ON lease_worker.id = worker_id
  UNION ALL
  SELECT job.id, job.jid, job.payload, member.place, NULL, member.at, NULL
    FROM job CROSS JOIN member ON member.job = job.id;
