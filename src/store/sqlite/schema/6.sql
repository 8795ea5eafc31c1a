-- The audit log. The IDs are in the order of the events.
CREATE TABLE act (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
