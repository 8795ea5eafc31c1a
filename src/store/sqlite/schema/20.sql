-- The ends of nodes whose followers are yet to be pushed or cancelled, under the name that Redis has for them.
ALTER TABLE flow_todo RENAME TO flow_pending;
