-- Set if the job was cancelled while it had this lease: when its worker dies, the job ends instead of returning to its queue.
ALTER TABLE lease ADD COLUMN cancelled INTEGER;
