-- What servers say about the jobs of the classes they perform: a JSON object.
CREATE TABLE class (
  name TEXT PRIMARY KEY,
  options TEXT NOT NULL
) STRICT, WITHOUT ROWID;
