-- reprice_done: all open requests are rated by this catalogue
UPDATE progress
SET catalogue_id = $catalogue_id, updated_at = $now
