-- settled_through: how far ingest and settlement have come
-- grain: one row
-- units: UTC times; legs
-- window: nodes heard of since $forgotten_at; a node, stage and pool counts with its last watermark
WITH
marks AS (
    SELECT max(watermark_at) AS watermark_at
    FROM node_watermark
    WHERE seen_at >= $forgotten_at
    GROUP BY node_id, stage, pool
),
metered AS (
    SELECT min(watermark_at) AS through_at FROM marks
),
open_legs AS (
    SELECT min(finished_at) AS first_finished_at
    FROM (
        SELECT finished_at FROM pending WHERE NOT orphaned
        UNION ALL
        SELECT l.finished_at FROM leg AS l, progress AS p WHERE l.ingest_seq > p.settled_through_seq
    )
)
SELECT
    p.settled_through_seq,
    p.updated_at,
    (SELECT coalesce(max(ingest_seq), 0) FROM leg) AS last_ingest_seq,
    (SELECT count(*) FROM pending)                 AS pending_legs,
    m.through_at                                   AS metered_through_at,
    CASE
        WHEN m.through_at IS NOT NULL THEN least(m.through_at, o.first_finished_at)
    END                                            AS settled_through_at
FROM progress AS p, metered AS m, open_legs AS o
