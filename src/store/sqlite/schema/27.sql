-- The name that the code and the pages use: the audit log has events.
ALTER TABLE act RENAME TO audit_event;
