-- The functions of a store: replaced whole by each newer version, which locks no table. `now` is the store's time in epoch milliseconds: that of the
-- clock, not of the transaction, which may be an application's, an hour old. `ahead` moves it, for tests.
--
-- A plan must not depend on statistics: they are of a moment when a table was empty, or full of dead rows. So rows are found by
-- their primary key in an array, or by `ctid`, and never by a join of two large tables. `worker_id + 0` keeps a lease from being looked
-- for in the index of workers, among all dead ones of its worker.
--
-- A function that a client or a trigger calls sets the search path, which costs some 30 µs. The others are called by such ones alone.
-- The session may be an application's, with any settings. A literal with a backslash is written as E'' or is in a function that an
-- outer one with `standard_conforming_strings` calls (`push.sql`).

CREATE OR REPLACE FUNCTION now_ms(ahead bigint) RETURNS bigint LANGUAGE sql VOLATILE AS
  $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + ahead $$;

-- Returns the text of a payload's field; null without it, `?` if the payload is unreadable. Text with an escaped NUL is read without it.
CREATE OR REPLACE FUNCTION field_of(payload text, field text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  BEGIN
    RETURN payload::json ->> field;
  EXCEPTION WHEN untranslatable_character THEN
    RETURN regexp_replace(payload, E'(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', E'\\1', 'g')::json ->> field;
  END;
EXCEPTION WHEN OTHERS THEN
  RETURN '?';
END $$;

-- Returns the number by which a name of this store is locked: other stores of the database have other numbers.
CREATE OR REPLACE FUNCTION lock_number(name text) RETURNS bigint LANGUAGE sql STABLE AS
  $$ SELECT hashtextextended(current_schema() || '/' || name, 0) $$;

-- Locks names until the transaction ends, in one order.
CREATE OR REPLACE FUNCTION lock_names(names text[]) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  number bigint;
BEGIN
  FOR number IN SELECT DISTINCT lock_number(name) FROM unnest(names) AS name ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(number);
  END LOOP;
END $$;

-- Inserts the mark of a transaction, and returns the number that it has: `client.ts`.
CREATE OR REPLACE FUNCTION mark(name bigint, number integer) RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  INSERT INTO pusher AS one (client, number, at) VALUES (name, number, now_ms(0))
    ON CONFLICT (client) DO UPDATE SET at = one.at RETURNING one.number $$;

-- Whether this session notifies others: not in a transaction that an application is going to prepare, which PostgreSQL refuses to after
-- a notification. Those that wait poll each second.
CREATE OR REPLACE FUNCTION notifies() RETURNS boolean LANGUAGE sql STABLE AS
  $$ SELECT coalesce(current_setting('jobs.notify', true), '') <> 'off' $$;

-- Notifies the processes that wait for these topics. Each commit with a notification waits for those before it: usually none is needed.
CREATE OR REPLACE FUNCTION wake(topics text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('jobs_' || current_schema(), one.topic) FROM unnest(topics) AS one (topic)
    WHERE notifies() AND EXISTS (SELECT 1 FROM waiting AS w WHERE w.topic = one.topic AND until > now_ms(0));
END $$;

CREATE OR REPLACE FUNCTION wake_queues(queues bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM waiting) THEN RETURN; END IF;
  PERFORM wake(ARRAY(SELECT DISTINCT 'work:' || split_part(name, '|', 1) FROM queue_row WHERE id = ANY(queues)));
END $$;

-- The same for jobs that were added. A queue without groups, pauses and limits has a job for each that waits: no look is needed.
CREATE OR REPLACE FUNCTION wake_takes(queues bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM waiting) THEN RETURN; END IF;
  PERFORM pg_notify('jobs_' || current_schema(), CASE WHEN is_ready THEN 'ready:' ELSE '' END || one.topic)
    FROM (SELECT 'work:' || split_part(name, '|', 1) AS topic,
        bool_or(parent IS NULL AND paused = 0 AND most_running IS NULL AND most_starts IS NULL) AS is_ready
      FROM queue_row WHERE id = ANY(queues) GROUP BY 1) AS one
    WHERE notifies() AND EXISTS (SELECT 1 FROM waiting AS w WHERE w.topic = one.topic AND until > now_ms(0));
END $$;

-- Returns the ID of a queue or a group, and creates its row if it has none. The row stays until the transaction ends.
CREATE OR REPLACE FUNCTION queue_number(wanted text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  found bigint;
  above bigint;
BEGIN
  LOOP
    SELECT id INTO found FROM queue_row WHERE name = wanted FOR KEY SHARE;
    IF found IS NOT NULL THEN RETURN found; END IF;
    IF position('|' IN wanted) > 0 THEN above := queue_number(split_part(wanted, '|', 1)); END IF;
    INSERT INTO queue_row (name, parent, state)
      VALUES (wanted, above, CASE WHEN substr(wanted, position('|' IN wanted), 3) = '||@' THEN 3 ELSE 0 END)
      ON CONFLICT (name) DO NOTHING;
  END LOOP;
END $$;

-- Returns those of the queues that another transaction is creating: it may be an application's, and stay open. The others have rows then.
CREATE OR REPLACE FUNCTION held_queues(names text[]) RETURNS SETOF text LANGUAGE plpgsql
SET search_path FROM CURRENT SET lock_timeout = '50ms' AS $$
DECLARE
  one text;
  held integer := 0;
BEGIN
  FOR one IN SELECT DISTINCT wanted.name FROM unnest(names) AS wanted (name)
    WHERE NOT EXISTS (SELECT 1 FROM queue_row WHERE queue_row.name = wanted.name) ORDER BY 1 LOOP
    BEGIN
      -- Each one takes a while.
      IF held < 4 THEN
        PERFORM queue_number(one);
        CONTINUE;
      END IF;
    EXCEPTION WHEN lock_not_available THEN
      held := held + 1;
    END;
    RETURN NEXT one;
  END LOOP;
END $$;

-- A running take has read a number of which no lease is committed: then none is deleted. A lease without a worker would never end.
CREATE OR REPLACE FUNCTION worker_number(wanted text) RETURNS bigint LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  found bigint;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(lock_number('lease_worker'));
  LOOP
    SELECT id INTO found FROM lease_worker WHERE worker = wanted;
    IF found IS NOT NULL THEN RETURN found; END IF;
    IF pg_try_advisory_xact_lock(lock_number('lease_worker')) THEN
      DELETE FROM lease_worker WHERE worker <> 'cancelled'
        AND worker NOT IN (SELECT id FROM worker) AND id NOT IN (SELECT worker_id FROM lease);
    END IF;
    INSERT INTO lease_worker (worker) VALUES (wanted) ON CONFLICT (worker) DO NOTHING;
  END LOOP;
END $$;

-- The functions of triggers, which `schema.sql` creates.

CREATE OR REPLACE FUNCTION queued_in() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO size_change (queue, parent, by)
    SELECT queue, (SELECT parent FROM queue_row WHERE id = queue), count(*) FROM added GROUP BY queue;
  PERFORM wake_takes(ARRAY(SELECT DISTINCT queue FROM added));
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION queued_out() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO size_change (queue, parent, by)
    SELECT queue, (SELECT parent FROM queue_row WHERE id = queue), -count(*) FROM removed GROUP BY queue;
  RETURN NULL;
END $$;

-- The end of a lease makes its group ready: a change by 0. If the group is still at its limit, its next turn holds it again.
CREATE OR REPLACE FUNCTION lease_out() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO size_change (queue, parent, by)
    SELECT DISTINCT queue, (SELECT parent FROM queue_row WHERE id = queue), 0 FROM removed WHERE from_group = 1;
  IF EXISTS (SELECT 1 FROM waiting) THEN
    PERFORM wake_queues(ARRAY(SELECT DISTINCT queue FROM removed
      WHERE from_group > 0 OR (SELECT most_running FROM queue_row WHERE id = queue) IS NOT NULL));
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION member_in() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  first bigint;
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO count_change (name, by) SELECT 'set:' || place, count(*) FROM added GROUP BY place;
  END IF;
  SELECT min(at) INTO first FROM added WHERE place <> 'dead';
  IF EXISTS (SELECT 1 FROM waiting WHERE topic = 'due' AND (due IS NULL OR due > first)) THEN PERFORM wake(ARRAY['due']); END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION member_out() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO count_change (name, by) SELECT 'set:' || place, -count(*) FROM removed GROUP BY place;
  DELETE FROM debounce WHERE job = ANY(ARRAY(SELECT job FROM removed WHERE place = 'scheduled'));
  RETURN NULL;
END $$;

-- A queue to which a transaction has added jobs stays: its transaction has ended before the row can be locked.
CREATE OR REPLACE FUNCTION queue_stays() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM queued WHERE queue = OLD.id) OR EXISTS (SELECT 1 FROM lease WHERE queue = OLD.id)
    OR EXISTS (SELECT 1 FROM queue_row WHERE parent = OLD.id) THEN
    RETURN NULL;
  END IF;
  DELETE FROM size_change WHERE queue = OLD.id;
  RETURN OLD;
END $$;

CREATE OR REPLACE FUNCTION queue_opened() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF NEW.name = '*' THEN
    -- The name of all queues: no process waits for it by this name.
    PERFORM pg_notify('jobs_' || current_schema(), 'work:*')
      WHERE notifies() AND EXISTS (SELECT 1 FROM waiting WHERE topic LIKE 'work:%' AND until > now_ms(0));
    RETURN NULL;
  END IF;
  PERFORM wake(ARRAY['work:' || split_part(NEW.name, '|', 1)]);
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION mail_in() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM wake(ARRAY[CASE TG_TABLE_NAME WHEN 'command' THEN 'commands:' || (to_jsonb(NEW) ->> 'worker')
    WHEN 'reply' THEN 'reply:' || (to_jsonb(NEW) ->> 'id') ELSE 'cron' END]);
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION record_in() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM waiting WHERE topic >= 'result:' AND topic < 'result;') THEN
    PERFORM wake(ARRAY(SELECT 'result:' || jid FROM added));
  END IF;
  RETURN NULL;
END $$;

-- A stream has more chunks, or its job has ended. A topic names the last chunk that its waiter has: `stream:7/JID`.
CREATE OR REPLACE FUNCTION stream_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM wake(ARRAY(SELECT DISTINCT topic FROM waiting
    WHERE topic >= 'stream:' AND topic < 'stream;' AND substr(topic, strpos(topic, '/') + 1) = NEW.jid));
  RETURN NULL;
END $$;

-- Events.

-- Returns the body of the event of a job's end: the members, and what the payload has of it.
CREATE OR REPLACE FUNCTION event_body(payload text, jid text, members text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN (SELECT '{' || members || ',' || substr(json_build_object('jid', event_body.jid, 'class', one.class, 'queue', one.queue,
      'batch', one.batch, 'tags', one.tags)::text, 2)
    FROM json_to_record(payload::json) AS one (class json, queue json, batch json, tags json));
EXCEPTION WHEN OTHERS THEN
  RETURN '{' || members || ',' || substr(json_build_object('jid', event_body.jid)::text, 2);
END $$;

CREATE OR REPLACE FUNCTION event_in() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM added) THEN
    PERFORM wake(ARRAY(SELECT DISTINCT topic FROM waiting WHERE topic >= 'events:' AND topic < 'events;'));
  END IF;
  RETURN NULL;
END $$;

-- Gives events their IDs, one transaction after the other: events become visible in another order than they were inserted, and readers
-- must not pass one that appears later. Returns whether there may be more.
CREATE OR REPLACE FUNCTION number_events(ahead bigint, most integer) RETURNS boolean LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  last bigint;
  fresh bigint[];
BEGIN
  IF NOT EXISTS (SELECT 1 FROM event WHERE id IS NULL) THEN RETURN false; END IF;
  PERFORM pg_advisory_xact_lock(lock_number('events'));
  fresh := ARRAY(SELECT seq FROM event WHERE id IS NULL ORDER BY seq LIMIT most);
  last := greatest((SELECT max(id) FROM event), (SELECT trimmed FROM event_log), now_ms(ahead) * 1024);
  UPDATE event SET id = last + array_position(fresh, seq) WHERE seq = ANY(fresh);
  RETURN cardinality(fresh) = most;
END $$;

-- Returns the events after an ID, up to a number of characters, but one at least; each with the ID of the last one that was dropped.
CREATE OR REPLACE FUNCTION read_events(ahead bigint, after bigint, most integer, max_size bigint)
RETURNS TABLE (dropped bigint, id bigint, at bigint, body text) LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM number_events(ahead, 2000);
  RETURN QUERY SELECT log.trimmed, one.id, one.at, one.body
    FROM (SELECT coalesce((SELECT trimmed FROM event_log), 0) AS trimmed) AS log
    LEFT JOIN LATERAL (SELECT two.id, two.at, two.body, sum(length(two.body)) OVER (ORDER BY two.id) AS size, row_number() OVER (ORDER BY two.id) AS place
      FROM (SELECT event.id, event.at, event.body FROM event WHERE event.id > after ORDER BY event.id LIMIT most) AS two) AS one
      ON one.size <= max_size OR one.place = 1 ORDER BY one.id;
END $$;

-- The number of sleeps and waits. A waiting record begins with its state, and that of a sleep has no kind.
CREATE OR REPLACE FUNCTION count_wait(record text, by bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF record LIKE '{"state":"waiting"%' THEN
    INSERT INTO count_change (name, by) VALUES ('wait:' || coalesce(field_of(record, 'kind'), 'sleep'), by);
  END IF;
END $$;
CREATE OR REPLACE FUNCTION step_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN PERFORM count_wait(OLD.record, -1); END IF;
  IF TG_OP <> 'DELETE' THEN PERFORM count_wait(NEW.record, 1); END IF;
  RETURN NULL;
END $$;

-- Returns some of the held groups of a queue with starts in the future: the clock was set back, and the times at which groups are due
-- are too late. The groups that are due last are checked. A take that has waited for the lock is earlier than the one before it, by
-- less than a second: that isn't a change of the clock.
CREATE OR REPLACE FUNCTION early_starts(above bigint, now bigint) RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN ARRAY(SELECT DISTINCT queue FROM start WHERE at > now + 1000 AND queue = ANY(ARRAY(
    SELECT id FROM queue_row WHERE parent = above AND due_at > now ORDER BY due_at DESC LIMIT 5)));
END $$;

-- Folds the changes of the groups of a queue, and makes groups ready. The caller has the lock of the queue.
CREATE OR REPLACE FUNCTION fold_groups(folded bigint, now bigint) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  early bigint[];
BEGIN
  WITH gone AS (DELETE FROM size_change WHERE parent = folded RETURNING queue, by),
    one AS (SELECT queue, sum(by)::bigint AS by, bool_or(by = 0) AS freed FROM gone GROUP BY queue),
    groups AS (
      UPDATE queue_row SET size = size + one.by,
        state = CASE WHEN state = 3 THEN 3 WHEN size + one.by <= 0 THEN 0 WHEN state = 2 AND NOT one.freed THEN 2 ELSE 1 END,
        due_at = CASE WHEN state = 2 AND NOT one.freed AND size + one.by > 0 THEN due_at END,
        tag = CASE WHEN size + one.by <= 0 OR state IN (1, 3) OR state = 2 AND NOT one.freed THEN tag
          ELSE greatest(tag, (SELECT vtime FROM queue_row AS above WHERE above.id = folded)) END
      FROM one WHERE queue_row.id = one.queue)
    UPDATE queue_row SET grouped = grouped + (SELECT sum(by) FROM one) WHERE id = folded AND EXISTS (SELECT 1 FROM one);
  -- Places of jobs aside that are empty.
  DELETE FROM queue_row WHERE id = ANY(ARRAY(
    SELECT id FROM queue_row WHERE parent = folded AND state = 3 AND size <= 0
      AND NOT EXISTS (SELECT 1 FROM size_change WHERE size_change.queue = queue_row.id) FOR UPDATE SKIP LOCKED));
  early := early_starts(folded, now);
  IF early <> '{}' THEN
    WITH gone AS (DELETE FROM start WHERE queue = ANY(early) AND at > now RETURNING queue, count)
      INSERT INTO start (queue, at, count) SELECT queue, now, sum(gone.count)::bigint FROM gone GROUP BY queue
      ON CONFLICT (queue, at) DO UPDATE SET count = start.count + excluded.count;
  END IF;
  UPDATE queue_row SET state = 1, due_at = NULL,
    tag = greatest(tag, (SELECT vtime FROM queue_row AS above WHERE above.id = folded))
    WHERE parent = folded AND due_at <= CASE WHEN early = '{}' THEN now ELSE 9223372036854775807 END;
END $$;

-- Stores the virtual times of groups after a take, and folds its changes.
CREATE OR REPLACE FUNCTION end_turns(turned bigint, groups bigint[], tags double precision[], now bigint) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE queue_row SET tag = one.tag FROM unnest(groups, tags) AS one (id, tag) WHERE queue_row.id = one.id;
  PERFORM fold_groups(turned, now);
END $$;

-- Folds all changes that no other transaction is folding, and forgets pushes that are no longer repeated.
CREATE OR REPLACE FUNCTION fold(ahead bigint, day_before text) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  busy record;
BEGIN
  IF NOT pg_try_advisory_xact_lock(lock_number('fold')) THEN RETURN; END IF;
  WITH gone AS (DELETE FROM size_change WHERE parent IS NULL RETURNING queue, by),
    one AS (SELECT queue, sum(by)::bigint AS by FROM gone GROUP BY queue)
    UPDATE queue_row SET size = size + one.by FROM one WHERE queue_row.id = one.queue AND one.by <> 0;
  WITH gone AS (DELETE FROM count_change RETURNING count_change.name, by)
    INSERT INTO counter (name, count) SELECT gone.name, sum(by) FROM gone GROUP BY 1
    ON CONFLICT (name) DO UPDATE SET count = counter.count + excluded.count;
  DELETE FROM pusher WHERE client = ANY (ARRAY(
    SELECT client FROM pusher WHERE at < now_ms(0) - 3600000 ORDER BY at LIMIT 1000 FOR UPDATE SKIP LOCKED));
  PERFORM sweep_keys(now_ms(ahead));
  DELETE FROM counter WHERE name >= 'processed:' AND name < 'processed:' || day_before;
  DELETE FROM counter WHERE name >= 'failed:' AND name < 'failed:' || day_before;
  FOR busy IN SELECT id, name FROM queue_row WHERE id IN (SELECT parent FROM size_change) ORDER BY id LOOP
    IF pg_try_advisory_xact_lock(lock_number('queue:' || busy.name)) THEN PERFORM fold_groups(busy.id, now_ms(ahead)); END IF;
  END LOOP;
END $$;

-- Stores jobs in their queues, or in `scheduled`. Returns the ID of the first. With a head and a tail, the payload of a job that goes
-- to its queue is the head, the time, and the tail; else it is `whole`. IDs rise in the order of the call.
CREATE OR REPLACE FUNCTION store_jobs(now bigint, wire integer, names text[], jids text[], wholes text[], heads text[], tails text[],
  batches text[], ats double precision[], delays double precision[]) RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  stamp text := CASE wire WHEN 8 THEN now::text ELSE trim(to_char(now / 1000.0, '999999999999990.000')) END;
  count integer := cardinality(names);
  ids bigint[] := ARRAY(SELECT nextval('job_id') FROM generate_series(1, count));
  dues bigint[];
  queues bigint[];
  single bigint;
BEGIN
  -- One order of locks for all.
  IF count = 1 OR names[1] = ALL (names) THEN single := queue_number(names[1]);
  ELSE
    WITH one AS MATERIALIZED (SELECT name, queue_number(name) AS id FROM (
      SELECT DISTINCT name FROM unnest(names) AS name ORDER BY 1) AS ordered)
    SELECT array_agg(one.id ORDER BY place) INTO queues
      FROM unnest(names) WITH ORDINALITY AS wanted (name, place) JOIN one ON one.name = wanted.name;
  END IF;
  dues := ARRAY(SELECT CASE WHEN due > now THEN round(due) END FROM (
    SELECT coalesce(now + delay, at) AS due, place FROM unnest(ats, delays) WITH ORDINALITY AS one (at, delay, place)) AS one ORDER BY place);
  INSERT INTO job (id, jid, payload, batch)
    SELECT id, jid, CASE WHEN due IS NOT NULL OR head IS NULL THEN whole ELSE head || stamp || tail END, batch
    FROM unnest(ids, jids, wholes, heads, tails, batches, dues) AS one (id, jid, whole, head, tail, batch, due);
  INSERT INTO queued (queue, job)
    SELECT coalesce(single, queue), id FROM unnest(ids, queues, dues) AS one (id, queue, due) WHERE due IS NULL;
  IF (SELECT count(*) FROM unnest(dues) AS due WHERE due IS NOT NULL) > 0 THEN
    INSERT INTO member (job, place, at) SELECT id, 'scheduled', due FROM unnest(ids, dues) AS one (id, due) WHERE due IS NOT NULL;
  END IF;
  RETURN ids[1];
END $$;

-- Stores jobs once, also if the call is repeated because its reply was lost.
CREATE OR REPLACE FUNCTION enqueue(pushed_by bigint, push bigint, ahead bigint, wire integer, names text[], jids text[],
  wholes text[], heads text[], tails text[], batches text[], ats double precision[], delays double precision[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  is_new boolean;
BEGIN
  INSERT INTO pusher (client, number, at) VALUES (pushed_by, push, now_ms(0))
    -- The indexed time changes once a minute, so that the other updates touch no index.
    ON CONFLICT (client) DO UPDATE SET number = excluded.number,
      at = CASE WHEN pusher.at < excluded.at - 60000 THEN excluded.at ELSE pusher.at END WHERE pusher.number < excluded.number
    RETURNING true INTO is_new;
  IF is_new THEN PERFORM store_jobs(now_ms(ahead), wire, names, jids, wholes, heads, tails, batches, ats, delays); END IF;
END $$;

-- Whether all queues are paused together.
CREATE OR REPLACE FUNCTION all_paused(now bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT 1 FROM queue_row WHERE name = '*' AND paused = 1 AND (paused_until IS NULL OR paused_until > now)) $$;

-- Releases the lock that a job has until it starts. Returns null. One that another transaction changes has expired: it isn't waited for.
CREATE OR REPLACE FUNCTION unlock_started(payload text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF field_of(payload, 'unique_until') = 'start' THEN
    DELETE FROM unique_lock WHERE ctid = ANY (ARRAY(SELECT ctid FROM unique_lock
      WHERE key = field_of(payload, 'unique_key') AND jid = field_of(payload, 'jid') FOR UPDATE SKIP LOCKED));
  END IF;
  RETURN NULL;
END $$;

-- Leases the oldest jobs of a queue or a group, up to a number of bytes, but one at least. Skips those that another transaction
-- is moving. Jobs aside are leased as those of another queue or group, `leased_as`.
CREATE OR REPLACE FUNCTION take_oldest(from_queue bigint, after bigint, room bigint, number bigint, taken_in bigint, now bigint,
  max_bytes bigint, of_group integer, leased_as bigint DEFAULT NULL) RETURNS TABLE (job bigint, payload text, cancelled boolean)
LANGUAGE plpgsql SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_sort = off
SET jit = off AS $$
#variable_conflict use_column
DECLARE
  taken bigint[];
BEGIN
  WITH gone AS (DELETE FROM queued WHERE ctid = ANY (ARRAY(
      SELECT queued.ctid FROM queued WHERE queue = from_queue AND queued.job > after
      ORDER BY queued.job LIMIT room FOR UPDATE SKIP LOCKED))
    RETURNING queued.job)
    SELECT array_agg(gone.job ORDER BY gone.job) INTO taken FROM gone;
  IF taken IS NULL THEN RETURN; END IF;
  RETURN QUERY WITH one AS MATERIALIZED (
      SELECT id, payload, batch, sum(octet_length(payload)) OVER (ORDER BY id) AS total
      FROM job WHERE id = ANY(taken) ORDER BY id),
    leased AS (INSERT INTO lease (job, queue, worker_id, take, at, from_group)
      SELECT id, coalesce(leased_as, from_queue), number, taken_in, now, of_group FROM one WHERE total <= max_bytes OR id = taken[1]),
    returned AS (INSERT INTO queued (queue, job) SELECT from_queue, id FROM one WHERE total > max_bytes AND id <> taken[1])
    SELECT id, payload, coalesce(
      CASE WHEN position('"unique_until":"start"' IN payload) > 0 THEN unlock_started(payload) END,
      batch IS NOT NULL AND EXISTS (SELECT 1 FROM batch AS b WHERE b.id = one.batch AND closed_as = 'cancelled'))
    FROM one WHERE total <= max_bytes OR id = taken[1] ORDER BY id;
END $$;

-- Takes jobs of queues without groups, limits and jobs aside of these classes, in the order of the queues. A row without a job names the first other queue: the
-- caller continues there. The take's number is unique among those of the worker. `lost` are takes whose reply was lost. Jobs up to
-- the floor of a queue aren't read, unless some have returned to their queues since: then a row with place 0 has the new count.
CREATE OR REPLACE FUNCTION take(ahead bigint, taker text, taken_in bigint, lost bigint[], names text[], floors bigint[],
  seen bigint, most integer, max_bytes bigint, classes text[])
RETURNS TABLE (place integer, job bigint, of_take bigint, name text, payload text, cancelled boolean)
LANGUAGE plpgsql SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_sort = off
SET jit = off AS $$
#variable_conflict use_column
DECLARE
  now bigint := now_ms(ahead);
  number bigint := worker_number(taker);
  queue record;
  room integer := most;
  bytes bigint := max_bytes;
  given integer;
  returns bigint := (SELECT last_value FROM returned);
  one record;
  i integer;
BEGIN
  IF returns <> seen THEN
    floors := array_fill(-1::bigint, ARRAY[cardinality(names)]);
    RETURN QUERY SELECT 0, NULL::bigint, returns, NULL::text, NULL::text, false;
  END IF;
  -- A lost take may be running still.
  PERFORM pg_advisory_xact_lock(lock_number('take:' || taker || ':' || asked))
    FROM unnest(lost || taken_in) AS asked;
  IF EXISTS (SELECT 1 FROM given_up WHERE worker = taker AND take = taken_in) THEN RETURN; END IF;
  IF cardinality(lost) > 0 THEN
    INSERT INTO given_up (worker, take, at) SELECT taker, asked, now FROM unnest(lost) AS asked ON CONFLICT DO NOTHING;
    DELETE FROM given_up WHERE at < now - 86400000;
    FOR one IN SELECT lease.job, lease.take, lease.queue, lease.cancelled, queue_row.name, job.payload, job.batch FROM lease
      JOIN job ON job.id = lease.job JOIN queue_row ON queue_row.id = lease.queue
      WHERE worker_id = number AND lease.take = ANY(lost) ORDER BY lease.job FOR UPDATE OF lease LOOP
      IF room > 0 THEN
        room := room - 1;
        RETURN QUERY SELECT 0, one.job, one.take, one.name, one.payload,
          one.cancelled = 1 OR EXISTS (SELECT 1 FROM batch WHERE id = one.batch AND closed_as = 'cancelled');
      ELSIF one.cancelled = 1 THEN UPDATE lease SET worker_id = worker_number('cancelled') WHERE lease.job = one.job;
      ELSE
        DELETE FROM lease WHERE lease.job = one.job;
        INSERT INTO queued (queue, job) VALUES (one.queue, one.job);
        PERFORM nextval('returned');
      END IF;
    END LOOP;
  END IF;
  IF room < 1 OR all_paused(now) THEN RETURN; END IF;
  FOR i IN 1 .. cardinality(names) LOOP
    SELECT id, most_running, most_starts INTO queue FROM queue_row
      WHERE queue_row.name = names[i] AND (paused = 0 OR paused_until <= now);
    CONTINUE WHEN queue.id IS NULL;
    IF queue.most_running IS NOT NULL OR queue.most_starts IS NOT NULL
      OR EXISTS (SELECT 1 FROM queue_row WHERE parent = queue.id AND state <> 3) OR has_aside(names[i], classes, now) THEN
      RETURN QUERY SELECT i, NULL::bigint, NULL::bigint, names[i], NULL::text, false;
      RETURN;
    END IF;
    RETURN QUERY SELECT i, one.job, taken_in, names[i], one.payload, one.cancelled
      FROM take_oldest(queue.id, floors[i], room, number, taken_in, now, bytes, 0) AS one;
    GET DIAGNOSTICS given = ROW_COUNT;
    room := room - given;
    EXIT WHEN room < 1 OR i = cardinality(names);
    CONTINUE WHEN given = 0;
    -- More did not fit.
    EXIT WHEN EXISTS (SELECT 1 FROM queued WHERE queued.queue = queue.id AND queued.job > floors[i]);
    bytes := max_bytes - (SELECT sum(octet_length(payload)) FROM job WHERE id = ANY (ARRAY(
      SELECT lease.job FROM lease WHERE worker_id = number AND take = taken_in)));
    EXIT WHEN bytes <= 0;
  END LOOP;
END $$;

-- Ends leases whose jobs leave nothing, or move to a set. Returns the places of lost ones in the call, and whether the dead set
-- has to be trimmed. Kinds: a ack, d discard, t retry, s snooze, b bury. It fails if another transaction holds a row: see `jobs.ts`.
CREATE OR REPLACE FUNCTION settle(ahead bigint, settler text, jobs bigint[], takes bigint[], kinds text, payloads text[],
  delays double precision[], unlocks text[], jids text[], records text[], ttls double precision[], events text[], max_records bigint)
RETURNS SETOF integer LANGUAGE plpgsql SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET jit = off SET lock_timeout = '200ms' AS $$
DECLARE
  now bigint := now_ms(ahead);
  day text := to_char(to_timestamp(now / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD');
  number bigint := (SELECT id FROM lease_worker WHERE worker = settler);
  held bigint[] := '{}';
  part bigint[];
  gone bigint[] := '{}';
  finished bigint := 0;
  failed bigint := 0;
  kind text;
  one record;
  i integer;
  is_kept boolean;
BEGIN
  -- A cancelled job doesn't run again: it passes to the worker of cancelled jobs.
  IF kinds ~ '[ts]' THEN PERFORM 1 FROM lease WHERE job = ANY(jobs) AND worker_id + 0 = number ORDER BY job FOR UPDATE; END IF;
  IF kinds ~ '[ts]' AND EXISTS (SELECT 1 FROM lease WHERE job = ANY(jobs) AND worker_id + 0 = number AND cancelled = 1) THEN
    FOR i IN 1 .. cardinality(jobs) LOOP
      CONTINUE WHEN substr(kinds, i, 1) NOT IN ('t', 's');
      UPDATE lease SET worker_id = worker_number('cancelled')
        WHERE job = jobs[i] AND take = takes[i] AND worker_id + 0 = number AND cancelled = 1 RETURNING true INTO is_kept;
      IF is_kept THEN kinds := overlay(kinds PLACING '-' FROM i FOR 1); jobs[i] := -1; END IF;
      is_kept := NULL;
    END LOOP;
  END IF;
  IF takes[1] = ALL (takes) THEN
    WITH ended AS (DELETE FROM lease WHERE job = ANY(jobs) AND worker_id + 0 = number AND take = takes[1] RETURNING job)
      SELECT array_agg(job) INTO held FROM ended;
  ELSE
    FOR one IN SELECT take, array_agg(job ORDER BY job) AS jobs FROM unnest(jobs, takes) AS u (job, take) GROUP BY take ORDER BY min(job) LOOP
      WITH ended AS (DELETE FROM lease WHERE job = ANY(one.jobs) AND worker_id + 0 = number AND take = one.take RETURNING job)
        SELECT array_agg(job) INTO part FROM ended;
      held := held || part;
    END LOOP;
  END IF;
  IF cardinality(held) = cardinality(jobs) AND kinds !~ '[^a]' AND records IS NULL AND unlocks IS NULL THEN
    gone := held;
    finished := cardinality(held);
  ELSE
    FOR i IN 1 .. cardinality(jobs) LOOP
      kind := substr(kinds, i, 1);
      CONTINUE WHEN kind = '-';
      IF held IS NULL OR jobs[i] <> ALL (held) THEN
        RETURN NEXT i - 1;
        CONTINUE;
      END IF;
      IF kind IN ('a', 'd') THEN gone := gone || jobs[i];
      ELSE
        UPDATE job SET payload = payloads[i] WHERE id = jobs[i];
        INSERT INTO member (job, place, at) VALUES (jobs[i],
          CASE kind WHEN 't' THEN 'retry' WHEN 's' THEN 'scheduled' ELSE 'dead' END,
          CASE kind WHEN 'b' THEN now ELSE round(now + delays[i]) END);
      END IF;
      IF unlocks[i] IS NOT NULL THEN
        DELETE FROM unique_lock WHERE key = unlocks[i] AND (jids[i] IS NULL OR jid = jids[i]);
      END IF;
      IF records[i] IS NOT NULL THEN
        DELETE FROM record WHERE jid = jids[i];
        INSERT INTO record (jid, body, expires) VALUES (jids[i], records[i], round(now + ttls[i]));
      END IF;
      IF kind <> 's' THEN finished := finished + 1; END IF;
      IF kind IN ('t', 'b', 'd') THEN failed := failed + 1; END IF;
    END LOOP;
    IF records IS NOT NULL THEN PERFORM trim_records(now, max_records); END IF;
  END IF;
  IF EXISTS (SELECT 1 FROM event_log WHERE until > now) THEN
    INSERT INTO event (at, body)
      SELECT now, event_body(job.payload, job.jid, coalesce(outcome.members,
        CASE outcome.how WHEN 'a' THEN '"type":"succeeded"' WHEN 'd' THEN '"type":"failed"' ELSE '"type":"dead"' END))
      FROM unnest(jobs, string_to_array(kinds, NULL), events) WITH ORDINALITY AS outcome (of_job, how, members, place)
      CROSS JOIN LATERAL (SELECT payload, jid FROM job WHERE id = of_job OFFSET 0) AS job
      WHERE outcome.how IN ('a', 'd', 'b') AND of_job = ANY(held) ORDER BY outcome.place;
  END IF;
  DELETE FROM job WHERE id = ANY(gone);
  INSERT INTO count_change (name, by)
    SELECT name, by FROM (VALUES ('processed', finished), ('processed:' || day, finished), ('failed', failed), ('failed:' || day, failed))
      AS one (name, by) WHERE by > 0;
END $$;

CREATE OR REPLACE FUNCTION trim_records(now bigint, max_records bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM record WHERE id = ANY (ARRAY(SELECT id FROM record WHERE expires <= now ORDER BY expires LIMIT 1000 FOR UPDATE SKIP LOCKED));
  DELETE FROM record WHERE id = ANY (ARRAY(
    SELECT id FROM record WHERE id <= (SELECT max(id) FROM record) - max_records ORDER BY id LIMIT 1000 FOR UPDATE SKIP LOCKED));
END $$;

-- Adds an entry to a log, whose numbers are consecutive.
CREATE OR REPLACE FUNCTION add_log(ahead bigint, log text, added text, most bigint) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  last bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(lock_number('log:' || log));
  INSERT INTO log AS one (name, number, at, text)
    VALUES (add_log.log, coalesce((SELECT max(number) FROM log AS two WHERE two.name = add_log.log), 0) + 1, now_ms(ahead), added)
    RETURNING number INTO last;
  DELETE FROM log AS one WHERE one.name = add_log.log AND one.number <= last - most;
END $$;

-- Waits.

-- Whether the limit of a queue leaves room.
CREATE OR REPLACE FUNCTION has_room(limited bigint, now bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
DECLARE
  queue record;
BEGIN
  SELECT id, most_running, most_starts, starts_per INTO queue FROM queue_row WHERE id = limited;
  IF queue.most_running IS NOT NULL AND queue.most_running <= (SELECT count(*) FROM lease WHERE lease.queue = queue.id
    OR from_group > 0 AND (SELECT parent FROM queue_row WHERE id = lease.queue) = queue.id) THEN
    RETURN false;
  END IF;
  RETURN queue.most_starts IS NULL OR queue.most_starts > (SELECT coalesce(sum(count), 0) FROM start
    WHERE start.queue = queue.id AND at > now - queue.starts_per AND at <= now);
END $$;

-- Whether a queue has jobs that may be taken.
CREATE OR REPLACE FUNCTION has_work(wanted text, floor bigint, now bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
DECLARE
  queue record;
BEGIN
  SELECT id INTO queue FROM queue_row WHERE name = wanted AND (paused = 0 OR paused_until <= now);
  IF queue.id IS NULL THEN RETURN false; END IF;
  IF NOT EXISTS (SELECT 1 FROM queued WHERE queued.queue = queue.id AND job > floor)
    AND NOT EXISTS (SELECT 1 FROM queue_row WHERE parent = queue.id AND (state = 1 OR due_at <= now))
    AND NOT EXISTS (SELECT 1 FROM size_change WHERE parent = queue.id AND by >= 0)
    AND early_starts(queue.id, now) = '{}' THEN
    RETURN false;
  END IF;
  RETURN has_room(queue.id, now);
END $$;

-- Whether a queue has jobs aside of these classes that may be taken; null for all classes.
CREATE OR REPLACE FUNCTION has_aside(wanted text, classes text[], now bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
DECLARE
  above bigint := (SELECT id FROM queue_row WHERE name = wanted AND (paused = 0 OR paused_until <= now));
  place record;
  limited record;
  group_name text;
  group_id bigint;
BEGIN
  IF above IS NULL OR NOT EXISTS (SELECT 1 FROM queue_row WHERE parent = above AND state = 3) OR NOT has_room(above, now) THEN
    RETURN false;
  END IF;
  FOR place IN SELECT id, substr(name, length(wanted) + 4) AS name FROM queue_row WHERE parent = above AND state = 3 LOOP
    CONTINUE WHEN classes IS NOT NULL AND split_part(place.name, '|', 1) <> ALL(classes);
    CONTINUE WHEN NOT EXISTS (SELECT 1 FROM queued WHERE queue = place.id);
    IF position('|' IN place.name) = 0 THEN RETURN true; END IF;
    group_name := substr(place.name, position('|' IN place.name) + 1);
    IF position('%' IN group_name) > 0 THEN
      group_name := replace(replace(group_name, '%00', chr(1114110) || '0'), '%25', '%');
    END IF;
    CONTINUE WHEN EXISTS (SELECT 1 FROM group_pause WHERE queue = above AND name = group_name AND (until IS NULL OR until > now));
    IF starts_with(group_name, '|') THEN RETURN true; END IF;
    SELECT most_running, most_starts, starts_per INTO limited FROM group_limit WHERE queue = above AND name IN (group_name, '')
      AND (until IS NULL OR until > now) AND (most_running IS NOT NULL OR most_starts IS NOT NULL) ORDER BY name DESC LIMIT 1;
    group_id := (SELECT id FROM queue_row WHERE name = wanted || '|' || group_name);
    CONTINUE WHEN limited.most_running <= (SELECT count(*) FROM lease WHERE queue = group_id AND from_group = 1);
    CONTINUE WHEN limited.most_starts <= (SELECT coalesce(sum(count), 0) FROM start
      WHERE queue = group_id AND at > now - limited.starts_per AND at <= now);
    RETURN true;
  END LOOP;
  RETURN false;
END $$;

-- Returns those of the topics whose condition holds. The floors are those of queues, as for `take`.
CREATE OR REPLACE FUNCTION look(ahead bigint, topics text[], floors bigint[], seen bigint, known_due bigint, known_cron bigint)
RETURNS SETOF text
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
  now bigint := now_ms(ahead);
  is_paused boolean := all_paused(now);
  all_read boolean := (SELECT last_value FROM returned) <> seen;
BEGIN
  RETURN QUERY SELECT topic FROM unnest(topics, floors) AS one (topic, floor) WHERE CASE
    WHEN topic = 'due' THEN EXISTS (SELECT 1 FROM member WHERE place = 'scheduled' AND (known_due IS NULL OR at < known_due))
      OR EXISTS (SELECT 1 FROM member WHERE place = 'retry' AND (known_due IS NULL OR at < known_due))
    WHEN topic = 'cron' THEN (SELECT changes FROM cron_counter) <> known_cron
    WHEN topic LIKE 'work:%' THEN NOT is_paused AND has_work(substr(topic, 6), CASE WHEN all_read THEN -1 ELSE floor END, now)
    WHEN topic LIKE 'aside:%' THEN NOT is_paused AND EXISTS (
      SELECT 1 FROM json_to_record(substr(topic, 7)::json) AS one (queues text[], classes text[]), unnest(queues) AS queue
      WHERE has_aside(queue, classes, now))
    WHEN topic LIKE 'commands:%' THEN EXISTS (SELECT 1 FROM command WHERE worker = substr(topic, 10))
    WHEN topic LIKE 'reply:%' THEN EXISTS (SELECT 1 FROM reply WHERE id = substr(topic, 7) AND expires > now)
    WHEN topic LIKE 'events:%' THEN EXISTS (SELECT 1 FROM event WHERE id IS NULL)
      OR EXISTS (SELECT 1 FROM event WHERE id > substr(topic, 8)::bigint)
    WHEN topic LIKE 'stream:%' THEN EXISTS (SELECT 1 FROM stream WHERE jid = substr(topic, strpos(topic, '/') + 1)
      AND (last > substr(split_part(topic, '/', 1), 8)::bigint OR ended = 1))
    ELSE EXISTS (SELECT 1 FROM record WHERE jid = substr(topic, 8) AND (expires IS NULL OR expires > now)) END;
END $$;

-- Notes that a process waits for topics, for a few seconds, and looks. `known_due` is the time up to which it knows the due jobs.
CREATE OR REPLACE FUNCTION wait_for(ahead bigint, topics text[], floors bigint[], seen bigint, known_due bigint, known_cron bigint,
  who bigint, for_ms bigint) RETURNS SETOF text LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  DELETE FROM waiting WHERE until < now_ms(0) - for_ms AND waiter <> who;
  INSERT INTO waiting (topic, waiter, until, due)
    -- The session that waits for jobs aside also waits for their queues.
    SELECT topic, who, now_ms(0) + for_ms, CASE topic WHEN 'due' THEN known_due END FROM unnest(topics) AS topic
      WHERE topic NOT LIKE 'aside:%'
    ON CONFLICT (topic, waiter) DO UPDATE SET until = excluded.until, due = excluded.due;
  RETURN QUERY SELECT look(ahead, topics, floors, seen, known_due, known_cron);
END $$;
