-- The names that the code and the pages use: a worker has an ID and a heartbeat, and a lease names its worker.
DROP VIEW entry;

ALTER TABLE process RENAME TO worker;
ALTER TABLE worker RENAME COLUMN identity TO id;
ALTER TABLE worker RENAME COLUMN beat_at TO heartbeat_at;
UPDATE worker SET record = json_set(json_remove(record, '$.identity'), '$.id', id);

ALTER TABLE lease RENAME COLUMN owner TO worker;
ALTER TABLE worker_name RENAME COLUMN owner TO worker;
ALTER TABLE command RENAME COLUMN identity TO worker;
DROP INDEX command_identity;
CREATE INDEX command_worker ON command (worker);

CREATE VIEW entry AS
  SELECT job.id, job.jid, job.payload, 'queue' AS place, queue.name AS queue, NULL AS at, NULL AS worker
    FROM job CROSS JOIN queue CROSS JOIN queued ON queued.queue = queue.id AND queued.job = job.id
  UNION ALL
  SELECT job.id, job.jid, job.payload, 'running', NULL, lease.at, lease.worker
    FROM job CROSS JOIN lease ON lease.job = job.id
  UNION ALL
  SELECT job.id, job.jid, job.payload, member.place, NULL, member.at, NULL
    FROM job CROSS JOIN member ON member.job = job.id;
