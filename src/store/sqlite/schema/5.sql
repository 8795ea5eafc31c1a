-- The options that workers declare for the classes they perform: a JSON object.
CREATE TABLE class (
  name TEXT PRIMARY KEY,
  options TEXT NOT NULL,
  declared_at INTEGER NOT NULL -- the last declaration, up to a day old
) STRICT, WITHOUT ROWID;
