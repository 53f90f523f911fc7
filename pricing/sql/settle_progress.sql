-- settle_progress: the mark moves in the transaction that wrote the batch
UPDATE progress
SET settled_through_seq = $to_seq, settle_seq = $settle_seq, updated_at = $now
