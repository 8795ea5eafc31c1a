-- The record of a sleep has no kind.
DROP TRIGGER step_waits_insert;
DROP TRIGGER step_waits_update;
DROP TRIGGER step_waits_delete;
CREATE TRIGGER step_waits_insert AFTER INSERT ON step WHEN new.record LIKE '{"state":"waiting"%' BEGIN
  UPDATE step_waits SET count = count + 1 WHERE kind = coalesce(new.record ->> '$.kind', 'sleep');
END;
CREATE TRIGGER step_waits_update AFTER UPDATE OF record ON step BEGIN
  UPDATE step_waits SET count = count - 1
    WHERE old.record LIKE '{"state":"waiting"%' AND kind = coalesce(old.record ->> '$.kind', 'sleep');
  UPDATE step_waits SET count = count + 1
    WHERE new.record LIKE '{"state":"waiting"%' AND kind = coalesce(new.record ->> '$.kind', 'sleep');
END;
CREATE TRIGGER step_waits_delete AFTER DELETE ON step WHEN old.record LIKE '{"state":"waiting"%' BEGIN
  UPDATE step_waits SET count = count - 1 WHERE kind = coalesce(old.record ->> '$.kind', 'sleep');
END;
