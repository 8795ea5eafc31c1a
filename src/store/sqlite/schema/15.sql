-- Keys of idempotent pushes: the job that was stored with each.
CREATE TABLE once_key (
  key TEXT PRIMARY KEY,
  jid TEXT NOT NULL,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX once_key_expires ON once_key (expires);
