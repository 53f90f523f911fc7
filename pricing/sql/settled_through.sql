-- settled_through: how far ingest and settlement have come
-- grain: one row
-- units: UTC times; legs
SELECT
    p.settled_through_seq,
    p.updated_at,
    (SELECT coalesce(max(ingest_seq), 0) FROM leg)               AS last_ingest_seq,
    (SELECT count(*) FROM pending)                               AS pending_legs,
    (SELECT min(w.watermark_at) FROM node_watermark AS w
     WHERE w.seen_at >= $forgotten_at)                           AS metered_through_at
FROM progress AS p
