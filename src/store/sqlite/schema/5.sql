-- What servers say about the jobs of the classes they perform: a JSON object.
CREATE TABLE class (
  name TEXT PRIMARY KEY,
  options TEXT NOT NULL,
  declared_at INTEGER NOT NULL -- the day on which that was last said, more or less
) STRICT, WITHOUT ROWID;
