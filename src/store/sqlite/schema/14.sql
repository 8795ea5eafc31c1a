-- How deep queues were and how long their oldest jobs had waited, by step of time: the largest values of each step.
CREATE TABLE queue_sample (
  step INTEGER NOT NULL, -- length of the step in milliseconds
  at INTEGER NOT NULL, -- when it began
  queue TEXT NOT NULL,
  size INTEGER NOT NULL,
  latency INTEGER NOT NULL, -- milliseconds
  PRIMARY KEY (step, at, queue)
) STRICT, WITHOUT ROWID;
