-- The sleeps and waits of steps that have not ended, by kind. A waiting record begins with its state.
CREATE TABLE step_waits (
  kind TEXT PRIMARY KEY,
  count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO step_waits
  SELECT column1, (
    SELECT count(*) FROM step WHERE record LIKE '{"state":"waiting"%' AND record ->> '$.kind' = column1
  ) FROM (VALUES ('sleep'), ('wait'), ('child'));

CREATE TRIGGER step_waits_insert AFTER INSERT ON step WHEN new.record LIKE '{"state":"waiting"%' BEGIN
  UPDATE step_waits SET count = count + 1 WHERE kind = new.record ->> '$.kind';
END;
CREATE TRIGGER step_waits_update AFTER UPDATE OF record ON step BEGIN
  UPDATE step_waits SET count = count - 1
    WHERE old.record LIKE '{"state":"waiting"%' AND kind = old.record ->> '$.kind';
  UPDATE step_waits SET count = count + 1
    WHERE new.record LIKE '{"state":"waiting"%' AND kind = new.record ->> '$.kind';
END;
CREATE TRIGGER step_waits_delete AFTER DELETE ON step WHEN old.record LIKE '{"state":"waiting"%' BEGIN
  UPDATE step_waits SET count = count - 1 WHERE kind = old.record ->> '$.kind';
END;
