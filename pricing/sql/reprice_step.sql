-- reprice_step: the batch number moves with the rows that it wrote
UPDATE progress
SET settle_seq = $settle_seq, updated_at = $now
