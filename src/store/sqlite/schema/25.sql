-- A lease that ends looks for its group only while a group of any queue is held: with this index that costs next to nothing.
CREATE INDEX queue_held ON queue (state) WHERE state = 2;
DROP TRIGGER group_freed;
CREATE TRIGGER group_freed AFTER DELETE ON lease WHEN OLD.grouped = 1 AND EXISTS (SELECT 1 FROM queue WHERE state = 2) BEGIN
  UPDATE queue SET state = 1, due_at = NULL, tag = max(tag, (SELECT vtime FROM queue AS parent WHERE parent.id = queue.parent))
    WHERE id = OLD.queue AND state = 2;
END;
