-- A digest of what was pushed with the key, by which another push with it is refused; empty: the key alone decides.
ALTER TABLE once_key ADD COLUMN fingerprint TEXT NOT NULL DEFAULT '';
