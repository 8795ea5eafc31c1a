-- A group of a queue is a separate row of `queue`, named QUEUE|GROUP, whose `parent` is the queue: see port/groups.ts.
ALTER TABLE queue ADD COLUMN parent INTEGER;
-- Group: 0 without jobs, 1 ready, 2 held.
ALTER TABLE queue ADD COLUMN state INTEGER NOT NULL DEFAULT 0;
-- Group: the virtual time of its next turn. Queue: that of its jobs without a group.
ALTER TABLE queue ADD COLUMN tag REAL NOT NULL DEFAULT 0;
-- Held group: when it becomes ready without another event. Null: when one of its leases ends.
ALTER TABLE queue ADD COLUMN due_at INTEGER;
-- Queue: its virtual time, and the number of jobs in its groups.
ALTER TABLE queue ADD COLUMN vtime REAL NOT NULL DEFAULT 0;
ALTER TABLE queue ADD COLUMN grouped INTEGER NOT NULL DEFAULT 0;
CREATE INDEX queue_turn ON queue (parent, state, tag) WHERE parent IS NOT NULL;
CREATE INDEX queue_due ON queue (parent, due_at) WHERE due_at IS NOT NULL;

ALTER TABLE lease ADD COLUMN grouped INTEGER NOT NULL DEFAULT 0; -- 1: taken from a group
CREATE INDEX lease_group ON lease (queue) WHERE grouped = 1;

-- A group that gets jobs becomes ready, at the queue's virtual time at the earliest. A group without jobs has no turn.
CREATE TRIGGER group_size AFTER UPDATE OF size ON queue WHEN NEW.parent IS NOT NULL BEGIN
  UPDATE queue SET grouped = grouped + NEW.size - OLD.size WHERE id = NEW.parent;
  UPDATE queue SET state = 1, tag = max(tag, (SELECT vtime FROM queue WHERE id = NEW.parent))
    WHERE id = NEW.id AND state = 0 AND NEW.size > 0;
  UPDATE queue SET state = 0, due_at = NULL WHERE id = NEW.id AND NEW.size = 0;
END;

-- The end of a lease makes its group ready. If the group is still at its limit, its next turn holds it again.
CREATE TRIGGER group_freed AFTER DELETE ON lease WHEN OLD.grouped = 1 BEGIN
  UPDATE queue SET state = 1, due_at = NULL, tag = max(tag, (SELECT vtime FROM queue AS parent WHERE parent.id = queue.parent))
    WHERE id = OLD.queue AND state = 2;
END;

-- The limit of a group. An empty name: of each group of the queue without a separate limit.
CREATE TABLE group_limit (
  queue INTEGER NOT NULL,
  name TEXT NOT NULL,
  most_running INTEGER,
  most_starts INTEGER,
  starts_per INTEGER,
  weight INTEGER,
  until INTEGER, -- null: until it is removed
  PRIMARY KEY (queue, name)
) STRICT, WITHOUT ROWID;
