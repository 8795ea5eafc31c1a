-- The batch that a job's payload names. With an index, which has only jobs that are in one, so that others cost nothing.
ALTER TABLE job ADD COLUMN batch TEXT;
UPDATE job SET batch = (
  SELECT iif(type = 'text', nullif(value, ''), NULL) FROM json_each(payload) WHERE key = 'batch' ORDER BY id DESC LIMIT 1
) WHERE instr(payload, '"batch"') > 0 AND CASE WHEN json_valid(payload) THEN json_type(payload) = 'object' END;
CREATE INDEX job_batch ON job (batch) WHERE batch IS NOT NULL;
CREATE INDEX batch_parent ON batch (parent) WHERE parent IS NOT NULL;
