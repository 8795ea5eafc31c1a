-- Null: paused until it is resumed; else until this moment.
ALTER TABLE queue ADD COLUMN paused_until INTEGER;
