-- Records of ended jobs. The IDs are in the order of their ends.
CREATE TABLE record (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  jid TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL,
  expires INTEGER -- null: kept until newer records displace it
) STRICT;
CREATE INDEX record_expires ON record (expires) WHERE expires IS NOT NULL;
