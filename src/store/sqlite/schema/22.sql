-- Expired keys of idempotent pushes are found by reading all of them in turn: an index costs each push more than that.
DROP INDEX once_key_expires;

-- The key at which the next reading begins.
CREATE TABLE once_sweep (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  key TEXT NOT NULL
) STRICT;
INSERT INTO once_sweep VALUES (1, '');
