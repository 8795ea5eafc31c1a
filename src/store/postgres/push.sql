-- Pushes by SQL: in any transaction, from any language. `push_options.sql` has the checks, `enqueue.sql` the rest.
--
-- The functions that an application calls set what its session may have set otherwise, and what a body depends on: the meaning of
-- literals, and the texts of times and numbers.

-- Returns JSON text in which U+10FFFE is escaped: stored texts use it for another escape (`values.ts`).
CREATE OR REPLACE FUNCTION escaped(value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT replace(value, chr(1114110), E'\\udbff\\udffe') $$;

-- Returns JSON text in which each number has its shortest decimal form (`json_numbers.ts`).
CREATE OR REPLACE FUNCTION plain_numbers(value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN value !~ E'\\d[.eE]|-0' THEN value
    ELSE (SELECT string_agg(CASE WHEN token[1] ~ E'^-?\\d' THEN trim_scale(token[1]::numeric)::text ELSE token[1] END, '' ORDER BY place)
      FROM regexp_matches(value, E'"(?:[^"\\\\]|\\\\.)*"|-?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|[^"0-9-]+', 'g') WITH ORDINALITY AS one (token, place)) END $$;

-- Returns the digest by which pushes are compared.
CREATE OR REPLACE FUNCTION push_digest(class text, queue text, of text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT translate(rtrim(encode(sha256(convert_to('[' || to_json(class) || ',' || to_json(queue) || ']' || plain_numbers(of), 'UTF8')), 'base64'), '='), '+/', '-_') $$;

-- Returns the milliseconds of `at`, or those from now on.
CREATE OR REPLACE FUNCTION moment(value text, OUT at double precision, OUT delay double precision) LANGUAGE plpgsql AS $$
DECLARE
  number numeric := CASE WHEN value ~ '^[-\d]' THEN value::numeric END;
  name text := CASE WHEN value LIKE '"%' THEN value::json #>> '{}' END;
BEGIN
  IF number < 1000000000 THEN delay := round(number * 1000);
  ELSIF number IS NOT NULL THEN at := round(CASE WHEN number > 100000000000 THEN number ELSE number * 1000 END);
  ELSIF name ~ '^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?)?$' THEN
    PERFORM refuse('at', value, 'a time with its zone, such as 2030-12-31T23:59:00Z or 2030-12-31T23:59:00+01:00, or epoch seconds');
  ELSIF name ~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)$' THEN
    BEGIN
      at := round(extract(epoch FROM replace(name, ',', '.')::timestamptz) * 1000);
    EXCEPTION WHEN data_exception THEN NULL;
    END;
  END IF;
  IF at IS NULL AND delay IS NULL OR at > 253402300799999 OR delay > 3155760000000 THEN
    PERFORM refuse('at', value,
      'a Date, ISO 8601 text such as 2030-12-31T23:59:00Z or epoch seconds, at most the year 9999; or under 1000000000 seconds from now');
  END IF;
END $$;

-- Whether only this program makes jobs of a class: `job/internal_class.ts`.
CREATE OR REPLACE FUNCTION is_internal(class text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT coalesce(starts_with(class, 'webhook:'), false) $$;
CREATE OR REPLACE FUNCTION public_class_expected() RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT 'a class that doesn''t begin with "webhook:": jobs makes the jobs of webhooks itself' $$;

-- Returns the class whose handler performs a payload: under a wrapper, the wrapped class.
CREATE OR REPLACE FUNCTION performed_class(payload json) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(
    CASE json_typeof(payload -> 'wrapped') WHEN 'string' THEN nullif(payload ->> 'wrapped', '') END,
    CASE WHEN payload ->> 'class' IN ('Sidekiq::ActiveJob::Wrapper', 'ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper')
      AND json_typeof(payload #> '{args,0,job_class}') = 'string' THEN nullif(payload #>> '{args,0,job_class}', '') END,
    payload ->> 'class') $$;

-- Checks a push and adds the options of its class. Returns a job as `enqueue_checked` takes it.
CREATE OR REPLACE FUNCTION build_push(request json, now bigint) RETURNS json LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  class text;
  f jsonb := '{}';
  given json;
  fields text[] := '{}';
  field record;
  queue text;
  tail text;
  written text;
  args text;
  created text;
  jid text;
  payload text;
  made json;
  at double precision;
  delay double precision;
  waits double precision;
  grouped text;
  lane text;
BEGIN
  request := without_nul(request::text);
  IF json_typeof(request) IS DISTINCT FROM 'object' THEN PERFORM refuse('job', json_text(request), 'an object with class and args'); END IF;
  class := CASE json_typeof(request -> 'class') WHEN 'string' THEN request ->> 'class' END;
  IF coalesce(class, '') = '' THEN PERFORM refuse('class', json_text(request -> 'class'), 'the name of the class that performs it'); END IF;
  SELECT one.options::json INTO given FROM class AS one WHERE one.name = class AND json_typeof(one.options::json) = 'object';
  IF given -> 'schema' IS NOT NULL THEN
    PERFORM refuse('class', to_json(class)::text, 'a class without a schema in SQL: only a client checks arguments against it');
  END IF;
  FOR field IN
    SELECT one.key, json_text(one.value) AS value FROM (
      SELECT key, value, 1 AS part, place FROM json_each(given) WITH ORDINALITY AS each (key, value, place)
        WHERE key NOT IN ('schema', 'isolate', 'retryIn')
      UNION ALL SELECT key, value, 2, place FROM json_each(request) WITH ORDINALITY AS each (key, value, place)) AS one
    ORDER BY part, place
  LOOP
    IF NOT f ? field.key THEN fields := fields || field.key::text; END IF;
    f := f || jsonb_build_object(field.key, field.value);
  END LOOP;
  SELECT key INTO written FROM unnest(fields) AS key WHERE key = ANY (link_fields()) LIMIT 1;
  IF written IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = to_json(written) || ' is written by jobs alone: choose another name';
  END IF;
  FOR field IN SELECT key FROM unnest(ARRAY['queue', 'retry', 'group', 'jid']) AS key WHERE f ? key LOOP
    PERFORM option_text(field.key, f ->> field.key);
  END LOOP;
  queue := coalesce((f ->> 'queue')::json #>> '{}', 'default');
  created := f ->> 'created_at';
  IF created !~ '^[-\d]' OR abs(CASE WHEN created::numeric > 100000000000 THEN created::numeric ELSE created::numeric * 1000 END) > 8640000000000000 THEN
    PERFORM refuse('created_at', created, 'epoch seconds or milliseconds');
  END IF;
  tail := '"queue":"' || queue || '","retry":' || CASE WHEN f ? 'retry' THEN option_text('retry', f ->> 'retry') ELSE 'true' END;
  FOR field IN SELECT key FROM unnest(fields) AS key LOOP
    CONTINUE WHEN field.key IN ('class', 'args', 'jid', 'queue', 'group', 'retry', 'created_at', 'unique_key', 'debounce_key');
    written := option_text(field.key, f ->> field.key);
    IF written IS NOT NULL THEN tail := tail || ',' || to_json(field.key) || ':' || written; END IF;
  END LOOP;
  FOR field IN SELECT key FROM unnest(ARRAY['unique_key', 'debounce_key']) AS key WHERE f ? key LOOP
    PERFORM option_text(field.key, f ->> field.key);
  END LOOP;
  FOR field IN SELECT * FROM (VALUES ('unique_key', 'unique_for'), ('unique_until', 'unique_for'), ('on_duplicate', 'unique_for'),
    ('debounce_key', 'debounce'), ('debounce_max', 'debounce'), ('throttle_key', 'throttle')) AS one (key, needs) LOOP
    IF f ? field.key AND NOT f ? field.needs AND NOT (field.key = 'unique_key' AND f ->> 'unique_key' ~ '^"[A-Za-z0-9_-]{43}"$') THEN
      PERFORM refuse(field.key, f ->> field.key, '"' || field.needs || '" with it');
    END IF;
  END LOOP;
  IF is_on(f ->> 'debounce') THEN
    FOR field IN SELECT key FROM unnest(ARRAY['in', 'at', 'unique_for', 'batch', 'id']) AS key WHERE is_on(f ->> key) LOOP
      PERFORM refuse(field.key, f ->> field.key, 'no "' || field.key || '" together with "debounce"');
    END LOOP;
  END IF;
  IF is_on(f ->> 'unique_for') AND f ->> 'on_duplicate' = '"replace"' AND is_on(f ->> 'batch') THEN
    PERFORM refuse('batch', f ->> 'batch', 'no "batch" together with "on_duplicate"');
  END IF;
  IF f ? 'batch' THEN tail := tail || ',"batch_counted":"pending"'; END IF;
  IF f ? 'in' THEN
    IF f ? 'at' THEN PERFORM refuse('in', f ->> 'in', 'either "in" or "at", not both'); END IF;
    IF coalesce(seconds_in(f ->> 'in') > 3155760000, true) THEN PERFORM refuse('in', f ->> 'in', seconds_expected(f ->> 'in')); END IF;
    delay := round(seconds_in(f ->> 'in') * 1000);
  ELSIF f ? 'at' THEN SELECT one.at, one.delay INTO at, delay FROM moment(f ->> 'at') AS one;
  END IF;
  IF delay <= 0 THEN delay := NULL; END IF;
  grouped := nullif(f ->> 'group', 'false');
  lane := nullif((f ->> 'priority')::json #>> '{}', 'normal');
  IF lane IS NOT NULL AND grouped IS NOT NULL THEN
    PERFORM refuse('priority', f ->> 'priority',
      'no group with it; the weight of a group is its share: jobs limit QUEUE --group NAME --weight N');
  END IF;
  IF f ? 'within' AND NOT f ? 'id' THEN PERFORM refuse('within', f ->> 'within', '"id" with it'); END IF;

  FOR field IN SELECT key, json_text(request -> key) AS value FROM unnest(ARRAY['class', 'wrapped', 'display_class']) AS key LOOP
    IF is_internal((field.value)::json #>> '{}') THEN PERFORM refuse(field.key, field.value, public_class_expected()); END IF;
  END LOOP;
  args := coalesce(json_text(request -> 'args'), '[]');
  IF args NOT LIKE '[%' THEN PERFORM refuse('args', args, 'an array of the handler''s arguments'); END IF;
  IF json_array_length(args::json) > 10000 THEN
    PERFORM refuse('args.length', json_array_length(args::json)::text, 'at most 10000 arguments; pass one list');
  END IF;
  PERFORM value_text(args::json, 'args');
  IF is_internal(performed_class(json_build_object('class', class, 'args', args::json))) THEN
    PERFORM refuse('args', (args::json #> '{0,job_class}')::text, public_class_expected());
  END IF;
  jid := coalesce((f ->> 'jid')::json #>> '{}', lpad(to_hex(now), 11, '0') || substr(md5(gen_random_uuid()::text), 1, 13));
  payload := '{"class":' || to_json(class) || ',"args":' || args || ',"jid":"' || jid || '",' || tail || ',"created_at":'
    || wire_time(coalesce(CASE WHEN created::numeric > 100000000000 THEN created::numeric ELSE created::numeric * 1000 END, now)::double precision, 7)
    || '}';
  IF grouped IS NOT NULL THEN
    lane := name_at('group', grouped, args::json);
    payload := left(payload, -1) || ',"group":' || to_json(lane) || '}';
  ELSIF lane IS NOT NULL THEN lane := '|' || lane;
  END IF;
  IF octet_length(with_nul(payload)) > 1048576 THEN
    PERFORM refuse('payload', octet_length(with_nul(payload))::text, 'at most 1048576 bytes; store the data elsewhere and push a reference');
  END IF;
  IF f ? 'notify' THEN PERFORM check_webhooks(f ->> 'notify'); END IF;
  waits := coalesce(delay, greatest(0, at - now), 0);
  made := json_build_object('jid', jid, 'queue', queue, 'group', lane, 'at', at, 'delayMs', delay,
    'once', CASE
      WHEN f ? 'id' THEN json_build_object('key', 'id:' || ((f ->> 'id')::json #>> '{}'),
        'ttlMs', waits + CASE WHEN f ? 'within' THEN span('within', f ->> 'within') ELSE 86400 END * 1000, 'fingerprint', left(push_digest(class, queue, with_nul(args)), 16))
      WHEN f ? 'jid' AND NOT is_on(f ->> 'debounce') THEN json_build_object('key', 'jid:' || jid, 'ttlMs', waits + 2592000000) END,
    'batch', CASE WHEN f ? 'batch' THEN json_build_object('id', (f ->> 'batch')::json #>> '{}') END);
  FOR field IN SELECT * FROM (VALUES ('unique', 'unique_for', 'unique_key'), ('debounce', 'debounce', 'debounce_key'),
    ('throttle', 'throttle', 'throttle_key')) AS one (kind, option, key) LOOP
    CONTINUE WHEN NOT is_on(f ->> field.option);
    written := CASE WHEN NOT f ? field.key THEN push_digest(class, queue, with_nul(args))
      WHEN field.key = 'unique_key' AND f ->> 'unique_key' ~ '^"[A-Za-z0-9_-]{43}"$' THEN (f ->> 'unique_key')::json #>> '{}'
      ELSE push_digest(class, queue, to_json(name_at(field.key, f ->> field.key, args::json))::text) END;
    IF field.kind <> 'throttle' THEN payload := left(payload, -1) || ',"' || field.kind || '_key":"' || written || '"}'; END IF;
    made := (made::jsonb || jsonb_build_object(field.kind, CASE field.kind
      WHEN 'unique' THEN jsonb_build_object('key', written, 'ttlMs', waits + span('unique_for', f ->> 'unique_for') * 1000,
        'replace', CASE f ->> 'on_duplicate' WHEN '"replace"' THEN true END)
      WHEN 'throttle' THEN jsonb_build_object('key', written, 'count', (read_throttle(f ->> 'throttle'))[1], 'perMs', (read_throttle(f ->> 'throttle'))[2])
      ELSE jsonb_build_object('key', written, 'waitMs', span('debounce', f ->> 'debounce') * 1000,
        'maxMs', CASE WHEN is_on(f ->> 'debounce_max') THEN span('debounce_max', f ->> 'debounce_max') * 1000 END) END))::json;
  END LOOP;
  RETURN jsonb_strip_nulls(made::jsonb || jsonb_build_object('payload', with_nul(payload)))::json;
END $$;

CREATE OR REPLACE FUNCTION in_units(count bigint, per integer, large text, small text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT count / per || large || CASE WHEN count % per > 0 THEN count % per || small ELSE '' END $$;
CREATE OR REPLACE FUNCTION duration_text(ms numeric) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN ms < 999.5 THEN round(ms) || 'ms' WHEN ms < 59950 THEN trim_scale(round(ms / 1000, 1)) || 's'
    WHEN ms < 3599500 THEN in_units(round(ms / 1000)::bigint, 60, 'm', 's')
    WHEN ms < 86370000 THEN in_units(round(ms / 60000)::bigint, 60, 'h', 'm')
    ELSE in_units(round(ms / 3600000)::bigint, 24, 'd', 'h') END $$;

-- Pushes jobs: objects with `class`, `args` and options, as the client's `pushMany` takes them. Returns one row per job, in order, as
-- it does. If one is invalid, its batch accepts no job or its `id` is another push's, all fail, and with them the transaction.
CREATE OR REPLACE FUNCTION push_many(jobs json) RETURNS TABLE (kind text, jid text, refused text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
  SET standard_conforming_strings = on SET DateStyle = 'ISO' SET TimeZone = 'UTC' SET extra_float_digits = 1 AS $$
#variable_conflict use_variable
DECLARE
  now bigint := now_ms(0);
  built json[];
  results json;
  one json;
  result json;
BEGIN
  jobs := escaped(jobs::text);
  IF json_typeof(jobs) IS DISTINCT FROM 'array' THEN PERFORM refuse('jobs', json_text(jobs), 'an array of objects with class and args'); END IF;
  built := ARRAY(SELECT build_push(each.value, now) FROM json_array_elements(jobs) WITH ORDINALITY AS each (value, place) ORDER BY place);
  results := enqueue_checked(0, 7, array_to_json(built));
  FOR i IN 1 .. cardinality(built) LOOP
    one := built[i];
    result := results -> (i - 1);
    kind := result ->> 'kind';
    jid := NULL;
    refused := NULL;
    CASE kind
      WHEN 'stored' THEN jid := one ->> 'jid';
      WHEN 'replaced' THEN jid := result ->> 'jid';
      WHEN 'existing' THEN
        IF result ->> 'differs' = 'true' THEN
          PERFORM refuse('id', to_json(substr(one #>> '{once,key}', 4))::text,
            'a new one: job "' || (result ->> 'first') || '" was pushed with it, and with another class, queue or arguments');
        END IF;
        kind := 'existed';
        jid := result ->> 'first';
      WHEN 'refused' THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'Cannot add to batch "' || (one #>> '{batch,id}') || '": ' || CASE result ->> 'batch'
          WHEN 'missing' THEN 'it doesn''t exist, or its retention has expired' WHEN 'closed' THEN 'it is closed; only its running members add to it'
          WHEN 'cancelled' THEN 'it was cancelled' ELSE 'it was abandoned: it had not been closed in time' END;
      WHEN 'duplicate' THEN refused := 'duplicate of job "' || (result ->> 'holder') || '", which holds the unique lock';
      ELSE refused := 'throttled: job "' || (result ->> 'by') || '" was pushed within the limit of ' || (one #>> '{throttle,count}') || ' in '
        || duration_text((one #>> '{throttle,perMs}')::numeric) || '; accepted again in ' || duration_text((result ->> 'freeInMs')::numeric);
    END CASE;
    RETURN NEXT;
  END LOOP;
END $$;

-- Pushes one job. Returns its jid; null if another job holds its unique lock, or its throttle refuses it. `options` has the options
-- that aren't parameters, by the client's names.
CREATE OR REPLACE FUNCTION push(class text, args json DEFAULT '[]', queue text DEFAULT NULL, in_ms double precision DEFAULT NULL,
  at timestamptz DEFAULT NULL, id text DEFAULT NULL, "group" text DEFAULT NULL, priority text DEFAULT NULL, retry integer DEFAULT NULL,
  unique_for text DEFAULT NULL, unique_key text DEFAULT NULL, debounce text DEFAULT NULL, throttle text DEFAULT NULL,
  batch text DEFAULT NULL, tags text[] DEFAULT NULL, options json DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
  SET standard_conforming_strings = on SET DateStyle = 'ISO' SET TimeZone = 'UTC' SET extra_float_digits = 1 AS $$
DECLARE
  request json;
  twice text;
BEGIN
  options := without_nul(escaped(options::text));
  SELECT key INTO twice FROM json_object_keys(CASE json_typeof(options) WHEN 'object' THEN options END) AS key GROUP BY key HAVING count(*) > 1 LIMIT 1;
  IF twice IS NOT NULL THEN PERFORM refuse(twice, json_text(push.options -> twice), 'one value: options has it twice'); END IF;
  IF json_typeof(options) <> 'object' THEN PERFORM refuse('options', json_text(options), 'an object such as {"timeout": "30s"}'); END IF;
  SELECT json_object_agg(one.name, one.value) INTO request FROM (
    SELECT named.name, escaped(named.value::text)::json AS value FROM (VALUES ('class', to_json(push.class)), ('args', push.args), ('queue', to_json(push.queue)),
      ('in', to_json(trim_scale(push.in_ms::numeric / 1000))), ('at', to_json(push.at)), ('id', to_json(push.id)), ('group', to_json(push."group")),
      ('priority', to_json(push.priority)), ('retry', to_json(push.retry)), ('unique_for', to_json(push.unique_for)),
      ('unique_key', to_json(push.unique_key)), ('debounce', to_json(push.debounce)), ('throttle', to_json(push.throttle)),
      ('batch', to_json(push.batch)), ('tags', to_json(push.tags))) AS named (name, value) WHERE named.value IS NOT NULL
    UNION ALL SELECT key, value FROM json_each(push.options)) AS one;
  SELECT key INTO twice FROM json_object_keys(without_nul(request::text)::json) AS key GROUP BY key HAVING count(*) > 1 LIMIT 1;
  IF twice IS NOT NULL THEN PERFORM refuse(twice, json_text(push.options -> twice), 'one value: it is a parameter, too'); END IF;
  RETURN (SELECT many.jid FROM push_many(json_build_array(with_nul(request::text)::json)) AS many);
END $$;

-- The fields that only stores and workers write.
CREATE OR REPLACE FUNCTION link_fields() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY['batch_counted', 'batch_by', 'flow_node', 'has_steps', 'callback_of', 'parent', 'occurrence', 'enqueued_at', 'retry_count',
    'failed_at', 'retried_at', 'discarded_at', 'no_handler_since', 'rescues', 'suspected', 'begun', 'error_class', 'error_message',
    'error_causes', 'error_backtrace', 'error_output', 'errors'] $$;

-- Checks a job that a client has built as the client does. The bound of its size is the largest that a client may be configured with.
CREATE OR REPLACE FUNCTION check_built(job json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  payload json;
  name text;
BEGIN
  IF octet_length(job ->> 'payload') > 536870912 THEN
    PERFORM refuse('payload', octet_length(job ->> 'payload')::text, 'at most 536870912 bytes; store the data elsewhere and push a reference');
  END IF;
  payload := without_nul(job ->> 'payload');
  IF json_typeof(payload) IS DISTINCT FROM 'object' OR json_typeof(payload -> 'class') IS DISTINCT FROM 'string'
    OR json_typeof(payload -> 'args') IS DISTINCT FROM 'array' THEN
    PERFORM refuse('payload', json_text(payload), 'an object with class and args');
  END IF;
  PERFORM option_text(key, coalesce(json_text(job -> key), 'null')) FROM unnest(ARRAY['queue', 'jid']) AS key;
  FOREACH name IN ARRAY ARRAY['queue', 'jid'] LOOP
    IF payload ->> name IS DISTINCT FROM job ->> name THEN
      PERFORM refuse('payload.' || name, coalesce(json_text(payload -> name), 'undefined'), json_text(job -> name)); END IF;
  END LOOP;
  name := job ->> 'group';
  IF name IS NOT NULL AND name NOT IN ('|high', '|low') AND is_group(name) IS NOT TRUE THEN
    PERFORM refuse('group', json_text(job -> 'group'), 'a text of 1 to 256 bytes that doesn''t begin with |');
  END IF;
  IF is_internal(payload ->> 'class') OR is_internal(payload ->> 'display_class') OR is_internal(performed_class(payload)) THEN
    PERFORM refuse('class', to_json(performed_class(payload))::text, public_class_expected());
  END IF;
END $$;

-- Stores jobs that a client has built, in the transaction of an application, or for a user that may only push. See `enqueue_checked`.
CREATE OR REPLACE FUNCTION push_built(jobs text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
  SET standard_conforming_strings = on SET DateStyle = 'ISO' SET TimeZone = 'UTC' SET extra_float_digits = 1 AS $$
DECLARE
  written text;
BEGIN
  PERFORM check_built(job) FROM json_array_elements(jobs::json) AS job;
  SELECT key INTO written FROM json_array_elements(jobs::json) AS job, LATERAL json_object_keys(without_nul(job ->> 'payload')::json) AS key
    WHERE key = ANY (link_fields()) AND NOT (key = 'batch_counted' AND job -> 'batch' IS NOT NULL) LIMIT 1;
  IF written IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = to_json(written) || ' is written by jobs alone: choose another name';
  END IF;
  RETURN enqueue_checked(0, 7, jobs::json)::text;
END $$;
