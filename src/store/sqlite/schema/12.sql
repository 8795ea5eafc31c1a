-- A worker name needs no fencing number, and a released one no row.
DROP TABLE claim;
CREATE TABLE worker_name (
  name TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
