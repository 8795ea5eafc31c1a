-- Flows: batches whose members run after each other.
ALTER TABLE batch ADD COLUMN flow INTEGER; -- 1: it is a flow
ALTER TABLE batch ADD COLUMN waiting INTEGER NOT NULL DEFAULT 0; -- of the pending ones: nodes that are in flow_node only
CREATE INDEX batch_flow ON batch (flow, id);

CREATE TABLE flow_node (
  id INTEGER PRIMARY KEY,
  flow TEXT NOT NULL,
  name TEXT NOT NULL,
  position INTEGER NOT NULL,
  spec TEXT NOT NULL, -- JSON: jid, class, queue, group, delayMs, at, onDead, after
  followers TEXT NOT NULL, -- JSON: names
  needs INTEGER NOT NULL, -- nodes it still waits for
  state TEXT NOT NULL,
  changed INTEGER NOT NULL,
  effect TEXT, -- what its end did to its followers, or does
  payload TEXT, -- while it waits
  result TEXT -- JSON
) STRICT;
CREATE UNIQUE INDEX flow_node_name ON flow_node (flow, name);
CREATE UNIQUE INDEX flow_node_position ON flow_node (flow, position);

-- Ends of nodes whose followers are yet to be pushed or cancelled, from the position on. Source '' is the start of the flow,
-- whose followers are the nodes that wait for none; '*' is its end, which cancels every node.
CREATE TABLE flow_todo (
  id INTEGER PRIMARY KEY,
  flow TEXT NOT NULL,
  source TEXT NOT NULL,
  effect TEXT NOT NULL,
  position INTEGER NOT NULL DEFAULT 0,
  UNIQUE (flow, source)
) STRICT;
