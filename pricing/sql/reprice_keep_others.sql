-- reprice_keep_others: only rows whose price was asked for anew may be reversed
DELETE FROM current_request
WHERE request_id NOT IN (SELECT request_id FROM owned)
