-- fold_samples_done: the mark moves in the transaction that folded the hours
UPDATE progress
SET sampled_through_at = $end_at, updated_at = $now
