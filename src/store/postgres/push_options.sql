-- The checks of `push`: each option's values, and the text that the payload has of it. The words are those of the client
-- (`job/options.ts`); `tests/store_postgres_push_test.ts` compares both. A value is JSON text here, without blanks; null for none.

CREATE OR REPLACE FUNCTION refuse(field text, value text, expected text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  shown text := coalesce(value, 'undefined');
BEGIN
  IF shown LIKE '"%' THEN shown := to_json(left(shown::json #>> '{}', 100))::text; END IF;
  IF shown ~ '^-?\d+$' AND abs(shown::numeric) > 9007199254740991 THEN shown := shown || 'n';
  ELSIF shown ~ '^-?[\d.]+[eE][+-]?\d+$' AND abs(shown::numeric) < 1e21 THEN shown := trim_scale(shown::numeric)::text;
  END IF;
  IF length(shown) > 100 THEN shown := left(shown, 100) || '…'; END IF;
  RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = field || ' is ' || shown || '; expected ' || expected;
END $$;

-- Returns a string's one text. One that PostgreSQL can't read, because it has a NUL, stays as it is.
CREATE OR REPLACE FUNCTION string_text(token text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN to_json(token::json #>> '{}')::text;
EXCEPTION WHEN OTHERS THEN
  IF token ~ '\\u0000' THEN RETURN token; END IF;
  RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = token || ' has half a character; expected text without half characters';
END $$;

-- Returns JSON text without blanks, as `JSON.stringify` writes it, except that numbers keep their form.
CREATE OR REPLACE FUNCTION json_text(value json) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN position('\' IN value::text) = 0 THEN regexp_replace(value::text, '("[^"]*")|\s+', '\1', 'g')
    ELSE (SELECT string_agg(CASE WHEN token[1] LIKE '"%' THEN string_text(token[1]) ELSE token[1] END, '' ORDER BY place)
      FROM regexp_matches(value::text, '"(?:[^"\\]|\\.)*"|[^\s"]+', 'g') WITH ORDINALITY AS one (token, place)) END $$;

-- Checks numbers and levels. Only values that look suspicious get here.
CREATE OR REPLACE FUNCTION check_json(value json, path text, levels integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  part record;
BEGIN
  CASE json_typeof(value)
    WHEN 'number' THEN
      IF value::text !~ '^-?\d+$' THEN
        IF abs(value::text::numeric) >= 1.7976931348623159e308 THEN PERFORM refuse(path, 'Infinity', 'a finite number'); END IF;
      ELSIF value::text::numeric NOT BETWEEN -9223372036854775808 AND 18446744073709551615 THEN
        PERFORM refuse(path, value::text, 'an integer from -2^63 to 2^64-1, or a text');
      END IF;
    WHEN 'array', 'object' THEN
      IF levels >= 100 THEN PERFORM refuse(path, json_text(value), 'at most 100 levels of arrays and objects'); END IF;
      IF json_typeof(value) = 'array' THEN
        FOR part IN SELECT one.value, place - 1 AS place FROM json_array_elements(value) WITH ORDINALITY AS one (value, place) LOOP
          PERFORM check_json(part.value, path || '[' || part.place || ']', levels + 1);
        END LOOP;
      ELSE
        FOR part IN SELECT * FROM json_each(value) LOOP
          PERFORM check_json(part.value, path ||
            CASE WHEN part.key ~ '^[A-Za-z_$][A-Za-z0-9_$]*$' THEN '.' || part.key ELSE '[' || to_json(part.key) || ']' END, levels + 1);
        END LOOP;
      END IF;
    ELSE NULL;
  END CASE;
END $$;

-- Returns the text of a value that JSON keeps.
CREATE OR REPLACE FUNCTION value_text(value json, path text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF value::text ~ '\d{18}|\d[eE]' OR length(value::text) - length(translate(value::text, '[{', '')) >= 99 THEN
    PERFORM check_json(value, path, 1);
  END IF;
  RETURN json_text(value);
END $$;

-- Returns the milliseconds of a duration such as 90, 30s or 1h30m; null if the text is none.
CREATE OR REPLACE FUNCTION duration_ms(value text) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN btrim(value) ~ '^\d+(\.\d+)?$' THEN btrim(value)::numeric * 1000
    WHEN btrim(value) ~ '^(\d+(\.\d+)?(ms|[smhd]))+$' THEN (
      SELECT sum(part[1]::numeric * CASE part[2] WHEN 'ms' THEN 1 WHEN 's' THEN 1000 WHEN 'm' THEN 60000 WHEN 'h' THEN 3600000 ELSE 86400000 END)
      FROM regexp_matches(btrim(value), '([\d.]+)([a-z]+)', 'g') AS part) END $$;

-- Returns seconds; null if the value is neither a number nor a duration.
CREATE OR REPLACE FUNCTION seconds_in(value text) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN value ~ '^[-\d]' THEN value::numeric
    WHEN value LIKE '"%' AND duration_ms(value::json #>> '{}') <= 3155760000000 THEN round(duration_ms(value::json #>> '{}')) / 1000 END $$;

CREATE OR REPLACE FUNCTION seconds_expected(value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT 'seconds, or a duration such as 30s, 5m, 2h or 1d' || CASE
    WHEN CASE WHEN value ~ '^[-\d]' THEN value::numeric * 1000 WHEN value LIKE '"%' THEN duration_ms(value::json #>> '{}') END > 3155760000000
    THEN ', at most 36525d (100 years)' ELSE '' END $$;

CREATE OR REPLACE FUNCTION span(field text, value text) RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN
  IF seconds_in(value) > 0 AND seconds_in(value) <= 1000000000 THEN RETURN trim_scale(seconds_in(value)); END IF;
  PERFORM refuse(field, value, CASE WHEN seconds_in(value) IS NULL THEN seconds_expected(value)
    ELSE 'seconds, or a duration such as 30s, 5m, 2h or 1d, more than 0 and at most 1000000000 seconds' END);
END $$;

-- Whether an option is on: `false` and 0 override the option of the class.
CREATE OR REPLACE FUNCTION is_on(value text) RETURNS boolean LANGUAGE sql IMMUTABLE AS
  $$ SELECT value IS NOT NULL AND value NOT IN ('false', 'null') AND value !~ '^-?0(\.0*)?$' $$;

CREATE OR REPLACE FUNCTION is_group(name text) RETURNS boolean LANGUAGE sql IMMUTABLE AS
  $$ SELECT name IS NOT NULL AND name <> '' AND name NOT LIKE '|%' AND octet_length(name) <= 256 $$;

-- Returns the name that an option gives: itself, or the value at its path into the arguments.
CREATE OR REPLACE FUNCTION name_at(field text, option text, args json) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  path text := CASE WHEN option LIKE '"%' THEN option::json #>> '{}' END;
  found json := args;
  step text[];
  name text;
BEGIN
  IF path IS NULL THEN RETURN trim_scale(option::numeric)::text; END IF;
  IF path !~ '^args(\[\d{1,9}\]|\.[A-Za-z_$][A-Za-z0-9_$-]*)+$' THEN RETURN path; END IF;
  FOR step IN SELECT regexp_matches(path, '\[(\d+)\]|\.([A-Za-z0-9_$-]+)', 'g') LOOP
    found := CASE json_typeof(found) WHEN 'array' THEN found -> step[1]::integer WHEN 'object' THEN found -> coalesce(step[1], step[2]) END;
  END LOOP;
  name := CASE json_typeof(found) WHEN 'string' THEN found #>> '{}'
    WHEN 'number' THEN CASE WHEN trunc(found::text::numeric) = found::text::numeric THEN trunc(found::text::numeric)::text END END;
  IF NOT is_group(name) OR name IS NULL THEN
    PERFORM refuse(field || ' (' || path || ')', json_text(found),
      'a text of 1 to 256 bytes that doesn''t begin with |, or a whole number, there');
  END IF;
  RETURN name;
END $$;

-- Checks the name or path of an option.
CREATE OR REPLACE FUNCTION check_name(field text, value text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  name text := CASE WHEN value LIKE '"%' THEN value::json #>> '{}' END;
  is_path boolean := name ~ '^args(\[\d{1,9}\]|\.[A-Za-z_$][A-Za-z0-9_$-]*)+$';
BEGIN
  IF name ~ '^\s*(args?|arguments)\s*\[|^\s*args(\.|$)' AND NOT is_path THEN
    PERFORM refuse(field, value, 'a path into the arguments such as args[0] or args[0].customer');
  ELSIF name IS NULL AND (value !~ '^[-\d]' OR trunc(value::numeric) <> value::numeric OR abs(value::numeric) > 9007199254740991)
    OR name IS NOT NULL AND NOT is_group(name) THEN
    PERFORM refuse(field, value, 'a text of 1 to 256 bytes that doesn''t begin with |, a whole number, or a path into the arguments such as '
      || 'args[0] or args[0].customer');
  END IF;
END $$;

-- Checks `backoff`. Returns its text.
CREATE OR REPLACE FUNCTION backoff_text(value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  given json := value::json;
  other text;
  longest text := json_text(given -> 'max');
BEGIN
  IF value NOT LIKE '{%' THEN
    PERFORM refuse('backoff', value, 'an object such as { type: "exponential", base: "2s", max: "1h" }');
  END IF;
  SELECT key INTO other FROM json_object_keys(given) AS key WHERE key NOT IN ('type', 'base', 'max', 'jitter') LIMIT 1;
  IF other IS NOT NULL THEN PERFORM refuse('backoff', to_json(other)::text, 'only the fields type, base, max, jitter'); END IF;
  IF (given ->> 'type') IS NULL OR (given ->> 'type') NOT IN ('exponential', 'linear', 'fixed') THEN
    PERFORM refuse('backoff.type', json_text(given -> 'type'), 'exponential, linear or fixed');
  END IF;
  IF json_typeof(given -> 'jitter') <> 'number' OR (given ->> 'jitter')::numeric NOT BETWEEN 0 AND 1 THEN
    PERFORM refuse('backoff.jitter', json_text(given -> 'jitter'), 'a number from 0 to 1');
  END IF;
  PERFORM span('backoff.base', json_text(given -> 'base'));
  IF longest IS NOT NULL THEN
    IF span('backoff.max', longest) < span('backoff.base', json_text(given -> 'base')) THEN
      PERFORM refuse('backoff.max', longest, 'at least backoff.base');
    END IF;
  END IF;
  RETURN '{"type":' || json_text(given -> 'type') || ',"base":' || span('backoff.base', json_text(given -> 'base'))
    || CASE WHEN longest IS NULL THEN '' ELSE ',"max":' || span('backoff.max', longest) END || coalesce(',"jitter":' || (given -> 'jitter'), '') || '}';
END $$;

-- Checks `throttle`. Returns its count and its milliseconds.
CREATE OR REPLACE FUNCTION read_throttle(value text) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  part text[] := CASE WHEN value LIKE '"%' THEN regexp_match(value::json #>> '{}', '^\s*(\d+)\s*/\s*(\S+)\s*$') END;
  per numeric := round(duration_ms(CASE WHEN part[2] ~ '^[a-z]' THEN '1' ELSE '' END || part[2]));
BEGIN
  IF part[1]::numeric BETWEEN 1 AND 10000 AND per BETWEEN 1 AND 2592000000 THEN RETURN ARRAY[part[1]::bigint, per::bigint]; END IF;
  PERFORM refuse('throttle', value, 'COUNT/DURATION such as 1/1m, with a count of 1 to 10000 and a time of up to 30 days; false for no throttle');
END $$;

-- Checks an option. Returns the payload's text of it; null if the payload doesn't store it.
CREATE OR REPLACE FUNCTION option_text(field text, value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  name text := CASE WHEN value LIKE '"%' THEN value::json #>> '{}' END;
  number numeric := CASE WHEN value ~ '^[-\d]' THEN value::numeric END;
  is_count boolean := coalesce(value IN ('true', 'false') OR number >= 0 AND trunc(number) = number AND number <= 9007199254740991, false);
BEGIN
  CASE field
    WHEN 'queue', 'retry_queue' THEN
      IF coalesce(name !~ '^[A-Za-z0-9_:.-]{1,255}$', true) THEN PERFORM refuse(field, value, 'a name of letters, digits and _ : . -'); END IF;
    WHEN 'retry', 'backtrace' THEN
      IF NOT is_count THEN
        PERFORM refuse(field, value, CASE field WHEN 'retry' THEN 'true, false, or a whole number from 0' ELSE 'true, false, or a number of lines' END);
      END IF;
      RETURN coalesce(trim_scale(number)::text, value);
    WHEN 'retry_for', 'timeout', 'expires_in' THEN RETURN span(field, value);
    WHEN 'result_ttl', 'failure_ttl' THEN
      IF name = '-1' OR number = -1 THEN RETURN '-1'; END IF;
      IF seconds_in(value) BETWEEN 0 AND 3155760000 THEN RETURN trim_scale(seconds_in(value)); END IF;
      PERFORM refuse(field, value, replace(seconds_expected(value), 'or 1d', 'or 1d; 0 to keep nothing, -1 to keep it while there is room'));
    WHEN 'unique_for' THEN RETURN CASE WHEN is_on(value) THEN span(field, value) END;
    WHEN 'debounce', 'debounce_max' THEN IF is_on(value) THEN PERFORM span(field, value); END IF; RETURN NULL;
    WHEN 'throttle' THEN IF is_on(value) THEN PERFORM read_throttle(value); END IF; RETURN NULL;
    WHEN 'unique_key', 'debounce_key', 'throttle_key' THEN PERFORM check_name(field, value); RETURN NULL;
    WHEN 'group' THEN IF value <> 'false' THEN PERFORM check_name(field, value); END IF; RETURN NULL;
    WHEN 'in', 'at', 'created_at' THEN RETURN NULL;
    WHEN 'dead' THEN IF value NOT IN ('true', 'false') THEN PERFORM refuse(field, value, 'true or false'); END IF;
    WHEN 'priority' THEN
      IF coalesce(name NOT IN ('high', 'normal', 'low'), true) THEN PERFORM refuse(field, value, 'high, normal or low'); END IF;
      RETURN CASE WHEN name <> 'normal' THEN value END;
    WHEN 'unique_until' THEN
      IF coalesce(name NOT IN ('end', 'start'), true) THEN PERFORM refuse(field, value, 'end or start'); END IF;
      RETURN CASE WHEN name <> 'end' THEN value END;
    WHEN 'on_duplicate' THEN
      IF coalesce(name NOT IN ('keep', 'replace'), true) THEN PERFORM refuse(field, value, 'keep or replace'); END IF;
      RETURN CASE WHEN name <> 'keep' THEN value END;
    WHEN 'log_level' THEN
      IF coalesce(name NOT IN ('debug', 'info', 'warn', 'error'), true) THEN PERFORM refuse(field, value, 'debug, info, warn or error'); END IF;
    WHEN 'backoff' THEN RETURN backoff_text(value);
    WHEN 'tags' THEN
      IF value NOT LIKE '[%' OR EXISTS (SELECT 1 FROM json_array_elements(value::json) AS tag WHERE json_typeof(tag) <> 'string' OR tag::text = '""') THEN
        PERFORM refuse(field, value, 'a list of words such as mail, urgent');
      END IF;
    WHEN 'notify' THEN
      IF coalesce(name = '', value NOT LIKE '[%') OR name IS NULL AND EXISTS (
        SELECT 1 FROM json_array_elements(value::json) AS one WHERE json_typeof(one) <> 'string' OR one::text = '""') THEN
        PERFORM refuse(field, value, 'the name of a webhook, or a list of names');
      END IF;
    WHEN 'display_class', 'wrapped' THEN IF coalesce(name = '', true) THEN PERFORM refuse(field, value, 'the name of a class'); END IF;
    WHEN 'batch', 'jid' THEN
      IF coalesce(name !~ '^[A-Za-z0-9_:.-]{1,128}$', true) THEN
        PERFORM refuse(field, value, 'a text of letters, digits and _ : . -, usually 24 hex digits');
      END IF;
    WHEN 'id' THEN IF coalesce(length(name) NOT BETWEEN 1 AND 200, true) THEN PERFORM refuse(field, value, 'a text of 1 to 200 characters'); END IF;
    WHEN 'within' THEN PERFORM span(field, value); RETURN NULL;
    ELSE RETURN value_text(value::json, field);
  END CASE;
  RETURN value;
END $$;

-- Checks that webhooks exist. The client also suggests a similar name.
CREATE OR REPLACE FUNCTION check_webhooks(value text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  known text[] := ARRAY(SELECT one ->> 'name' FROM webhook, json_array_elements(subscriptions::json) WITH ORDINALITY AS each (one, place) ORDER BY place);
  unknown text;
BEGIN
  SELECT one.name INTO unknown FROM json_array_elements_text(CASE WHEN value LIKE '[%' THEN value ELSE '[' || value || ']' END::json)
    WITH ORDINALITY AS one (name, place) WHERE one.name <> ALL (known) ORDER BY place LIMIT 1;
  IF unknown IS NULL THEN RETURN; END IF;
  PERFORM refuse('notify', to_json(unknown)::text, 'the name of a webhook; '
    || CASE cardinality(known) WHEN 0 THEN 'none is configured' ELSE 'known: ' || array_to_string(known, ', ') END);
END $$;
