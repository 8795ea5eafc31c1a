-- The key that signs sessions and forms of the dashboard, and its live sessions: all processes that serve it share them.
CREATE TABLE session_key (id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT NOT NULL) STRICT;
CREATE TABLE session (
  user TEXT NOT NULL,
  id TEXT NOT NULL,
  expires INTEGER NOT NULL,
  kept_until INTEGER NOT NULL,
  PRIMARY KEY (user, id)
) STRICT, WITHOUT ROWID;
