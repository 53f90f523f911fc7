-- settle_forget_pending: halves that this batch decides about leave the waiting room
DELETE FROM pending
WHERE event_id IN (SELECT event_id FROM candidate)
