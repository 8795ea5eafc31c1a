-- Stores jobs that keys, batches, throttles or debounces decide about: `JobStore.enqueue`, with the port's names, as JSON.
-- The locks of keys and batches last until the transaction ends, which may be an application's. So a push that a unique lock or a once
-- key refuses locks nothing. The rows of accepted ones decide by themselves: a name in shared memory for each would fill that.
--
-- No statement reads a key before it writes it, if it can do without: two SERIALIZABLE transactions would conflict over the page of an
-- index. In such a transaction and in a REPEATABLE READ one, a key that another one has changed since raises 40001.

-- Replaces the escapes of NUL in JSON text, which functions can't read, and of U+10FFFE, by marks that no stored text has; and the reverse.
CREATE OR REPLACE FUNCTION without_nul(value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN position(E'\\u0000' IN value) = 0 AND value !~* E'\\\\udbff\\\\udffe' THEN value
    ELSE regexp_replace(regexp_replace(value, E'(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', E'\\1' || chr(1114110) || '2', 'g'),
      E'(?<!\\\\)((?:\\\\\\\\)*)\\\\u[dD][bB][fF][fF]\\\\u[dD][fF][fF][eE]', E'\\1' || chr(1114110) || '3', 'g') END $$;
CREATE OR REPLACE FUNCTION with_nul(value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT replace(replace(value, chr(1114110) || '2', E'\\u0000'), chr(1114110) || '3', E'\\udbff\\udffe') $$;

-- Sets a field in the text of an object; all other bytes stay. Text that isn't an object stays as it is.
CREATE OR REPLACE FUNCTION set_field(payload text, field text, token text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  given json;
BEGIN
  given := without_nul(payload);
  RETURN with_nul((
    WITH members AS (
      SELECT place, to_json(one.key) || ':' || CASE one.key WHEN field THEN token ELSE one.value::text END AS member
      FROM json_each(given) WITH ORDINALITY AS one (key, value, place)
      UNION ALL
      SELECT NULL, to_json(field) || ':' || token WHERE (given -> field) IS NULL)
    SELECT '{' || string_agg(member, ',' ORDER BY place NULLS LAST) || '}' FROM members));
EXCEPTION WHEN data_exception THEN
  RETURN payload;
END $$;

CREATE OR REPLACE FUNCTION wire_time(ms double precision, wire integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE wire WHEN 8 THEN round(ms)::bigint::text ELSE trim(to_char(round(ms::numeric) / 1000, '999999999999990.000')) END $$;

-- Returns a payload with the time at which its queue got it.
CREATE OR REPLACE FUNCTION stamped(payload text, now bigint, wire integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN payload LIKE '{_%}' AND position('"enqueued_at"' IN payload) = 0
    THEN left(payload, -1) || ',"enqueued_at":' || wire_time(now, wire) || '}'
    ELSE set_field(payload, 'enqueued_at', wire_time(now, wire)) END $$;

-- Returns why a batch accepts no member; null if it does. A closed one accepts those that its running members add. The caller holds the
-- batch and their leases.
CREATE OR REPLACE FUNCTION batch_refusal(asked text, added_by json) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  seen record;
  token text[] := regexp_match(added_by ->> 'token', E'^(\\d{1,16})\\.(\\d{1,16})$');
BEGIN
  SELECT closed_as, pending INTO seen FROM batch WHERE id = asked;
  IF NOT FOUND THEN RETURN 'missing'; END IF;
  IF seen.closed_as = 'closed' AND seen.pending > 0 AND EXISTS (
    SELECT 1 FROM lease JOIN job ON job.id = lease.job WHERE lease.job = token[1]::bigint AND take = token[2]::bigint
      AND worker_id = (SELECT id FROM lease_worker WHERE worker = added_by ->> 'worker')
      AND field_of(payload, 'batch') = asked AND field_of(payload, 'batch_counted') IN ('pending', 'dead')) THEN
    RETURN NULL;
  END IF;
  RETURN seen.closed_as;
END $$;

-- Replaces the job that has a unique lock, if it waits and accepts that. `due` is null for now. Returns null if it no longer has the lock.
CREATE OR REPLACE FUNCTION replace_waiting(wanted text, holder text, name text, payload text, due bigint, now bigint, wire integer) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  waiting record;
  renamed text := set_field(payload, 'jid', to_json(holder)::text);
BEGIN
  LOOP
    SELECT one.id, one.queue, one.payload INTO waiting FROM entry AS one
      WHERE one.jid = holder AND one.place IN ('queue', 'scheduled', 'retry') LIMIT 1;
    IF NOT FOUND OR field_of(waiting.payload, 'on_duplicate') IS DISTINCT FROM 'replace'
      OR field_of(waiting.payload, 'batch_counted') IS NOT NULL OR field_of(waiting.payload, 'has_steps') IS NOT NULL
      OR field_of(waiting.payload, 'parent') IS NOT NULL THEN
      RETURN CASE WHEN EXISTS (SELECT 1 FROM unique_lock WHERE key = wanted AND jid = holder) THEN false END;
    END IF;
    -- The place before the lock, as takes and edits do.
    IF waiting.queue IS NULL THEN PERFORM 1 FROM member WHERE member.job = waiting.id FOR UPDATE;
    ELSE PERFORM 1 FROM queued WHERE queued.queue = (SELECT q.id FROM queue_row AS q WHERE q.name = waiting.queue) AND queued.job = waiting.id
      FOR UPDATE;
    END IF;
    EXIT WHEN FOUND;
    -- Another transaction has moved it meanwhile.
  END LOOP;
  PERFORM 1 FROM unique_lock WHERE key = wanted AND jid = holder FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF waiting.queue IS NULL THEN DELETE FROM member WHERE member.job = waiting.id;
  ELSE DELETE FROM queued WHERE queued.queue = (SELECT q.id FROM queue_row AS q WHERE q.name = waiting.queue) AND queued.job = waiting.id;
  END IF;
  IF due IS NULL AND waiting.queue = name THEN
    UPDATE job SET payload = stamped(renamed, now, wire) WHERE job.id = waiting.id;
    INSERT INTO queued (queue, job) VALUES (queue_number(name), waiting.id);
  ELSE
    -- It is last in its new place.
    PERFORM store_jobs(now, wire, ARRAY[name], ARRAY[holder], ARRAY[CASE WHEN due IS NULL THEN stamped(renamed, now, wire) ELSE renamed END],
      NULL, NULL, NULL, ARRAY[due]::double precision[], NULL);
    DELETE FROM job WHERE job.id = waiting.id;
  END IF;
  RETURN true;
END $$;

-- Puts off the job that waits for a debounce, with another payload, or stores it. Returns the jid of the one that waited.
CREATE OR REPLACE FUNCTION put_off(debounce json, name text, of_jid text, payload text, now bigint, wire integer) RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  waiting record;
  begun bigint;
  due bigint;
  kept text;
BEGIN
  SELECT one.job, one.first INTO waiting FROM debounce AS one WHERE one.key = debounce ->> 'key';
  -- The clock may have been set back.
  begun := least(coalesce(waiting.first, now), now);
  due := greatest(now + 1, ceil(least(now + (debounce ->> 'waitMs')::double precision, begun + (debounce ->> 'maxMs')::double precision)));
  -- It may be leaving the set at this moment.
  UPDATE member SET at = due WHERE member.job = waiting.job;
  IF FOUND THEN
    SELECT coalesce(one.jid, of_jid) INTO kept FROM job AS one WHERE one.id = waiting.job;
    UPDATE job SET payload = set_field(payload, 'jid', to_json(kept)::text) WHERE job.id = waiting.job;
    UPDATE debounce AS one SET first = begun WHERE one.key = debounce ->> 'key';
    RETURN kept;
  END IF;
  INSERT INTO debounce AS one (key, job, first) VALUES (debounce ->> 'key',
      store_jobs(now, wire, ARRAY[name], ARRAY[of_jid], ARRAY[payload], NULL, NULL, NULL, ARRAY[due]::double precision[], NULL), now)
    ON CONFLICT (key) DO UPDATE SET job = excluded.job, first = excluded.first;
  RETURN NULL;
END $$;

-- Takes a unique lock. Returns the job that has it, of which nothing is locked; null if it was taken.
CREATE OR REPLACE FUNCTION take_unique(wanted text, of_jid text, until bigint, now bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  there record;
BEGIN
  LOOP
    INSERT INTO unique_lock (key, jid, expires) VALUES (wanted, of_jid, until) ON CONFLICT (key) DO NOTHING;
    IF FOUND THEN RETURN NULL; END IF;
    SELECT jid, expires INTO there FROM unique_lock WHERE key = wanted;
    IF there.expires > now THEN RETURN there.jid; END IF;
    UPDATE unique_lock SET jid = of_jid, expires = until WHERE key = wanted AND expires <= now;
    IF FOUND THEN RETURN NULL; END IF;
  END LOOP;
END $$;

-- Takes a once key. Returns the push that has it, of which nothing is locked; null if it was taken.
CREATE OR REPLACE FUNCTION take_once(once json, of_jid text, now bigint) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  wanted text := once ->> 'key';
  until bigint := round(now + (once ->> 'ttlMs')::double precision);
  print text := coalesce(once ->> 'fingerprint', '');
  there record;
BEGIN
  LOOP
    INSERT INTO once_key (key, jid, expires, fingerprint) VALUES (wanted, of_jid, until, print) ON CONFLICT (key) DO NOTHING;
    IF FOUND THEN RETURN NULL; END IF;
    SELECT jid, expires, fingerprint INTO there FROM once_key WHERE key = wanted;
    IF there.expires > now THEN RETURN existing(there.jid, there.fingerprint, once); END IF;
    UPDATE once_key SET jid = of_jid, expires = until, fingerprint = print WHERE key = wanted AND expires <= now;
    IF FOUND THEN RETURN NULL; END IF;
  END LOOP;
END $$;

-- Holds the leases of members that add jobs, then the batches: neither ends before this transaction does.
CREATE OR REPLACE FUNCTION hold_batches(jobs json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  members json[] := ARRAY(SELECT job -> 'batch' FROM json_array_elements(jobs) AS job WHERE job -> 'batch' IS NOT NULL);
BEGIN
  IF cardinality(members) = 0 THEN RETURN; END IF;
  PERFORM 1 FROM lease WHERE job = ANY (ARRAY(
    SELECT substring(one #>> '{by,token}' FROM '^(\d{1,16})\.')::bigint FROM unnest(members) AS one)) ORDER BY job FOR KEY SHARE;
  PERFORM 1 FROM batch WHERE id = ANY (ARRAY(SELECT one ->> 'id' FROM unnest(members) AS one)) ORDER BY id DESC FOR NO KEY UPDATE;
END $$;

-- Changes the row of a throttle. At other levels than READ COMMITTED that raises 40001 if another transaction has changed it since.
CREATE OR REPLACE FUNCTION note_throttled(throttle json, now bigint) RETURNS void LANGUAGE sql AS $$
  INSERT INTO unique_lock AS held (key, jid, expires) VALUES ('throttle:' || (throttle ->> 'key'), '',
      ceil(now + (throttle ->> 'perMs')::double precision)) ON CONFLICT (key) DO UPDATE SET expires = excluded.expires $$;

-- Stores jobs, and returns the result of each.
CREATE OR REPLACE FUNCTION enqueue_checked(ahead bigint, wire integer, jobs json) RETURNS json
LANGUAGE plpgsql SET search_path FROM CURRENT
  SET standard_conforming_strings = on SET DateStyle = 'ISO' SET TimeZone = 'UTC' SET extra_float_digits = 1 AS $$
#variable_conflict use_column
DECLARE
  now bigint;
  one record;
  seen record;
  results json[] := '{}';
  holder text;
  moved text;
  due bigint;
  reason text;
  asked text;
  names text[] := '{}';
  jids text[] := '{}';
  payloads text[] := '{}';
  batches text[] := '{}';
  ats double precision[] := '{}';
  counted text[] := '{}';
  places integer[] := '{}';
  locked text[];
  known json;
  replaced boolean;
  in_order boolean;
BEGIN
  locked := ARRAY(
    SELECT part.kind || ':' || (part.value ->> 'key')
    FROM json_array_elements(jobs) AS given (job), LATERAL json_each(given.job) AS part (kind, value)
    WHERE part.kind IN ('throttle', 'debounce') OR part.kind = 'unique' AND (part.value ->> 'replace') = 'true');
  PERFORM lock_names(locked);
  PERFORM hold_batches(jobs);
  now := now_ms(ahead);
  -- By their keys, which all calls take in one order, unless a job's place in the call decides about more than one.
  in_order := cardinality(locked) = 0 AND NOT EXISTS (
    SELECT 1 FROM json_to_recordset(jobs) AS given ("unique" json, once json) WHERE "unique" IS NOT NULL AND once IS NOT NULL);
  FOR one IN
    SELECT queue || coalesce('|' || "group", '') AS name, given.* FROM ROWS FROM (json_to_recordset(jobs) AS (jid text, queue text,
      "group" text, payload text, at double precision, "delayMs" double precision, "unique" json, once json, throttle json,
      debounce json, batch json)) WITH ORDINALITY AS given (jid, queue, "group", payload, at, "delayMs", "unique", once, throttle,
      debounce, batch, place)
    ORDER BY CASE WHEN in_order THEN coalesce('u' || ("unique" ->> 'key'), 'o' || (once ->> 'key')) COLLATE "C" END, place
  LOOP
    due := coalesce(now + one."delayMs", one.at);
    IF due <= now THEN due := NULL; END IF;
    seen := NULL;
    holder := NULL;
    -- A job that is refused must not use its once key.
    IF one.once IS NOT NULL AND (one."unique" IS NOT NULL OR one.batch IS NOT NULL OR one.throttle IS NOT NULL) THEN
      SELECT jid, fingerprint INTO seen FROM once_key WHERE key = one.once ->> 'key' AND expires > now;
      IF FOUND THEN
        results[one.place] := existing(seen.jid, seen.fingerprint, one.once);
        CONTINUE;
      END IF;
    END IF;
    IF one.batch IS NOT NULL THEN
      -- The jobs of one call usually have one batch, which nothing here closes.
      IF asked IS DISTINCT FROM one.batch::text THEN
        asked := one.batch::text;
        reason := batch_refusal(one.batch ->> 'id', one.batch -> 'by');
      END IF;
      IF reason IS NOT NULL THEN
        results[one.place] := json_build_object('kind', 'refused', 'batch', reason);
        CONTINUE;
      END IF;
    END IF;
    IF one.throttle IS NOT NULL THEN
      -- An older snapshot doesn't have all pushes: it fails if there is another one. Else their lock is enough.
      IF current_setting('transaction_isolation') <> 'read committed' THEN PERFORM note_throttled(one.throttle, now); END IF;
      -- If the clock was set back, later times become now.
      UPDATE throttled SET at = now WHERE key = one.throttle ->> 'key' AND at > now;
      SELECT jid, at INTO seen FROM throttled WHERE key = one.throttle ->> 'key' AND at > now - (one.throttle ->> 'perMs')::double precision
        ORDER BY at DESC, id DESC LIMIT 1 OFFSET (one.throttle ->> 'count')::bigint - 1;
      IF FOUND THEN
        results[one.place] := json_build_object('kind', 'throttled', 'by', seen.jid,
          'freeInMs', seen.at + (one.throttle ->> 'perMs')::bigint - now);
        CONTINUE;
      END IF;
    END IF;
    IF one.once IS NOT NULL THEN
      known := take_once(one.once, one.jid, now);
      IF known IS NOT NULL THEN
        results[one.place] := known;
        CONTINUE;
      END IF;
    END IF;
    IF one."unique" IS NOT NULL THEN
      LOOP
        holder := take_unique(one."unique" ->> 'key', one.jid, round(now + (one."unique" ->> 'ttlMs')::double precision)::bigint, now);
        EXIT WHEN holder IS NULL OR (one."unique" ->> 'replace') IS DISTINCT FROM 'true';
        replaced := replace_waiting(one."unique" ->> 'key', holder, one.name, one.payload, due, now, wire);
        EXIT WHEN replaced IS NOT NULL;
      END LOOP;
      IF holder IS NOT NULL THEN
        IF (one."unique" ->> 'replace') IS DISTINCT FROM 'true' OR NOT replaced THEN
          DELETE FROM once_key WHERE key = one.once ->> 'key' AND jid = one.jid;
          results[one.place] := json_build_object('kind', 'duplicate', 'holder', holder);
          CONTINUE;
        END IF;
        UPDATE once_key SET jid = holder WHERE key = one.once ->> 'key' AND jid = one.jid;
      END IF;
    END IF;
    IF one.throttle IS NOT NULL THEN
      INSERT INTO throttled (key, jid, at, expires) VALUES (one.throttle ->> 'key', coalesce(holder, one.jid), now,
        ceil(now + (one.throttle ->> 'perMs')::double precision));
      PERFORM note_throttled(one.throttle, now);
    END IF;
    IF holder IS NOT NULL THEN
      UPDATE unique_lock SET expires = round(now + (one."unique" ->> 'ttlMs')::double precision) WHERE key = one."unique" ->> 'key';
      results[one.place] := json_build_object('kind', 'replaced', 'jid', holder);
      CONTINUE;
    END IF;
    IF one.debounce IS NOT NULL THEN
      moved := put_off(one.debounce, one.name, one.jid, one.payload, now, wire);
      results[one.place] := CASE WHEN moved IS NULL THEN '{"kind":"stored"}' ELSE json_build_object('kind', 'replaced', 'jid', moved) END;
      CONTINUE;
    END IF;
    names := names || one.name;
    jids := jids || one.jid;
    payloads := payloads || CASE WHEN due IS NULL THEN stamped(one.payload, now, wire) ELSE one.payload END;
    batches := batches || coalesce(one.batch ->> 'id', nullif(field_of(one.payload, 'batch'), '?'));
    ats := ats || due::double precision;
    places := places || one.place::integer;
    IF one.batch IS NOT NULL THEN counted := counted || (one.batch ->> 'id'); END IF;
    results[one.place] := '{"kind":"stored"}'::json;
    -- At once, so that the next one of this call finds it, and after those before it: a queue has the order of the call.
    IF (one."unique" ->> 'replace') = 'true' THEN
      PERFORM store_jobs(now, wire, names, jids, payloads, NULL, NULL, batches, ats, NULL);
      names := '{}'; jids := '{}'; payloads := '{}'; batches := '{}'; ats := '{}'; places := '{}';
    END IF;
  END LOOP;
  IF cardinality(names) > 0 THEN
    PERFORM store_jobs(now, wire, array_agg(one.name ORDER BY place), array_agg(one.jid ORDER BY place),
      array_agg(one.payload ORDER BY place), NULL, NULL, array_agg(one.batch ORDER BY place), array_agg(one.at ORDER BY place), NULL)
      FROM unnest(names, jids, payloads, batches, ats, places) AS one (name, jid, payload, batch, at, place);
  END IF;
  FOR one IN SELECT id, count(*) AS more FROM unnest(counted) AS id GROUP BY id ORDER BY id DESC LOOP
    UPDATE batch SET version = version + 1, total = total + one.more, pending = pending + one.more,
      -- The indexed time changes once a second, so that the other updates touch no index.
      due = CASE WHEN closed_as IS NOT NULL THEN NULL WHEN due BETWEEN now + close_within - 1000 AND now + close_within THEN due
        ELSE now + close_within END
      WHERE id = one.id;
  END LOOP;
  RETURN array_to_json(results);
END $$;

CREATE OR REPLACE FUNCTION existing(first text, fingerprint text, once json) RETURNS json LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN fingerprint <> '' AND (once ->> 'fingerprint') <> fingerprint
    THEN json_build_object('kind', 'existing', 'first', first, 'differs', true)
    ELSE json_build_object('kind', 'existing', 'first', first) END $$;

-- Deletes expired locks and counted pushes, and the expired ones of the next once keys: four for each job since the last sweep. Not in
-- pushes: the rows would be locked until an application's transaction ends.
CREATE OR REPLACE FUNCTION sweep_keys(now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  swept record;
  last bigint := (SELECT last_value FROM job_id);
  upto text;
BEGIN
  DELETE FROM unique_lock WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM unique_lock WHERE expires <= now ORDER BY expires LIMIT 10000 FOR UPDATE SKIP LOCKED));
  DELETE FROM throttled WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM throttled WHERE expires <= now ORDER BY expires LIMIT 10000 FOR UPDATE SKIP LOCKED));
  SELECT key, job INTO swept FROM once_sweep FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT key INTO upto FROM once_key WHERE key >= swept.key ORDER BY key LIMIT 1 OFFSET least(greatest(4 * (last - swept.job), 1000), 40000);
  DELETE FROM once_key WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM once_key WHERE key >= swept.key AND (upto IS NULL OR key < upto) AND expires <= now FOR UPDATE SKIP LOCKED));
  -- After the last key, the next sweep begins at the first one.
  UPDATE once_sweep SET key = coalesce(upto, ''), job = last;
END $$;
