-- What people did. The id is the order in which they did.
CREATE TABLE act (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
