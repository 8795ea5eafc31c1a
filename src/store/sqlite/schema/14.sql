-- Depth of queues and age of their oldest jobs: the largest values of each time step.
CREATE TABLE queue_sample (
  step INTEGER NOT NULL, -- length of the step in milliseconds
  at INTEGER NOT NULL, -- when it began
  queue TEXT NOT NULL,
  size INTEGER NOT NULL,
  latency INTEGER NOT NULL, -- milliseconds
  PRIMARY KEY (step, at, queue)
) STRICT, WITHOUT ROWID;
