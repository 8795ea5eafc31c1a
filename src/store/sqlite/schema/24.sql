-- A take writes the tag of a group with its size, and all that follows from both. Other changes of the size leave the tag.
DROP TRIGGER group_size;
CREATE TRIGGER group_size AFTER UPDATE OF size ON queue WHEN NEW.parent IS NOT NULL AND NEW.tag = OLD.tag BEGIN
  UPDATE queue SET grouped = grouped + NEW.size - OLD.size WHERE id = NEW.parent;
  UPDATE queue SET state = 1, tag = max(tag, (SELECT vtime FROM queue WHERE id = NEW.parent))
    WHERE id = NEW.id AND state = 0 AND NEW.size > 0;
  UPDATE queue SET state = 0, due_at = NULL WHERE id = NEW.id AND NEW.size = 0;
END;
