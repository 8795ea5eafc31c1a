-- The roles of a schema: `SCHEMA_push`, `SCHEMA_work`, `SCHEMA_read` and `SCHEMA_admin`. Those that exist get their privileges at each
-- migration, and by `SELECT grant_roles()` of the schema's owner. `jobs schema --roles` creates them.
--
-- Only what a role needs to push runs as the owner (SECURITY DEFINER). All else runs as the caller, with its privileges in tables.
-- The schema may have objects of an application: each statement names the store's (`objects.ts`), and none is for all of a schema.

CREATE OR REPLACE FUNCTION grant_roles() RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  schema CONSTANT text := current_schema();
  functions CONSTANT text := ':functions';
  tables CONSTANT text := ':tables';
  writable CONSTANT text := ':writable';
  sequences CONSTANT text := ':sequences';
  pushes CONSTANT text := ':pushes';
  secrets CONSTANT text := 'session, session_key';
  one text;
BEGIN
  EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', functions);
  FOR one IN SELECT rolname FROM pg_roles WHERE rolname IN (schema || '_push', schema || '_work', schema || '_read', schema || '_admin') LOOP
    EXECUTE format('REVOKE ALL ON %s FROM %I', tables, one);
    EXECUTE format('REVOKE ALL ON SEQUENCE %s FROM %I', sequences, one);
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %I', functions, one);
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', schema, one);
    IF one = schema || '_push' THEN
      EXECUTE format('GRANT SELECT ON meta, class, webhook TO %I', one);
      EXECUTE format('GRANT EXECUTE ON FUNCTION %s, now_ms(bigint) TO %I', pushes, one);
      CONTINUE;
    END IF;
    EXECUTE format('GRANT SELECT ON %s TO %I', tables, one);
    EXECUTE format('GRANT SELECT ON SEQUENCE %s TO %I', sequences, one);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', functions, one);
    EXECUTE format('REVOKE EXECUTE ON FUNCTION grant_roles() FROM %I', one);
    IF one = schema || '_read' THEN
      EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM %I', pushes, one);
    ELSE
      EXECUTE format('GRANT INSERT, UPDATE, DELETE ON %s TO %I', writable, one);
      EXECUTE format('GRANT USAGE ON SEQUENCE %s TO %I', sequences, one);
    END IF;
    IF one <> schema || '_admin' THEN EXECUTE format('REVOKE ALL ON %s FROM %I', secrets, one); END IF;
  END LOOP;
END $$;

SELECT grant_roles();
