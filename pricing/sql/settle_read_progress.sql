-- settle_read_progress: how far settlement has come
-- grain: one row
SELECT settled_through_seq, settle_seq
FROM progress
