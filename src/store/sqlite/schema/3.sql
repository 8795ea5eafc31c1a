-- What is kept of jobs that have ended. The id is the order in which they did.
CREATE TABLE record (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  jid TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL,
  expires INTEGER -- null: as long as there is room
) STRICT;
CREATE INDEX record_expires ON record (expires) WHERE expires IS NOT NULL;
