-- The outbox of jobs. Copy it into a migration of your application: the objects are created in the first schema of search_path.
-- A job is pushed if and only if the transaction that has inserted its row commits.

CREATE TABLE jobs_outbox (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- A job pushed twice has one ID, so that it is stored once.
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  -- The fields of a push: {"class": "Mail", "args": ["ada"], "queue": "mail"}.
  job json NOT NULL CHECK (json_typeof(job) = 'object'),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Why the job was refused. Mend the row, and set it to NULL: the job is pushed.
  error text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX jobs_outbox_refused ON jobs_outbox (number) WHERE error IS NOT NULL;

-- SELECT jobs_outbox_push('Mail', '["ada"]', '{"queue": "mail"}') is the same as an INSERT into the table.
CREATE FUNCTION jobs_outbox_push(class text, args json DEFAULT '[]', options json DEFAULT '{}') RETURNS uuid
LANGUAGE sql SET search_path FROM CURRENT AS $$
  INSERT INTO jobs_outbox (job) VALUES ((
    '{"class":' || to_json(class) || ',"args":' || args ||
    CASE WHEN options::text ~ '^[[:space:]]*[{][[:space:]]*[}][[:space:]]*$' THEN '}' ELSE ',' || substr(ltrim(options::text, E' \t\r\n'), 2) END
  )::json) RETURNING id
$$;

-- Wakes the workers when the transaction commits. With SET LOCAL jobs.notify = off it doesn't, as PREPARE TRANSACTION requires: workers poll.
CREATE FUNCTION jobs_outbox_notify() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_notify('jobs_outbox', '') WHERE coalesce(current_setting('jobs.notify', true), '') <> 'off';
    RETURN NULL;
  END
$$;

CREATE TRIGGER jobs_outbox_notify AFTER INSERT OR UPDATE ON jobs_outbox
  FOR EACH STATEMENT EXECUTE FUNCTION jobs_outbox_notify();
