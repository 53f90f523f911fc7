-- append_foreign_known: senders' ids whose event lies outside the batch's time ranges
-- grain:   event_id; `claimed` holds, as text, the ids that append_foreign took just now
INSERT INTO known
SELECT
    f.event_id,
    f.content_hash,
    NULL,
    NULL,
    false
FROM foreign_id f
WHERE f.event_id IN (SELECT event_id FROM verdict WHERE fault IS NULL AND is_foreign)
  AND f.event_id NOT IN (SELECT event_id FROM known)
  AND f.event_id NOT IN (SELECT event_id::UUID FROM claimed)
