-- settle_due_pending: halves whose other side can no longer come, with all of their key → candidate
-- grain: one row per leg
-- $horizon_at: a half that finished before it is due once the other stage's watermark passed it by
--              the orphan time; $silent_horizon_at: due even though a node of the other stage is silent
CREATE OR REPLACE TEMP TABLE candidate AS
WITH last_mark AS (
    SELECT node_id, stage, coalesce(pool, '') AS pool, max(watermark_at) AS watermark_at
    FROM node_watermark
    WHERE seen_at > $forgotten_at
    GROUP BY ALL
),
stage_mark AS (
    SELECT pool, stage, min(watermark_at) AS watermark_at
    FROM last_mark
    GROUP BY ALL
),
due AS (
    SELECT p.event_id, p.key_hash
    FROM pending AS p
    LEFT JOIN stage_mark AS m
      ON m.pool = coalesce(p.pool, '')
     AND m.stage = CASE p.stage WHEN 'prefill' THEN 'decode' WHEN 'decode' THEN 'prefill' ELSE p.stage END
    WHERE NOT p.orphaned
      AND (
        (m.watermark_at IS NOT NULL AND p.finished_at < m.watermark_at - to_seconds($orphan_seconds))
        OR p.arrived_at < $silent_horizon_at
        OR (m.watermark_at IS NULL AND p.arrived_at < $horizon_at)
      )
)
SELECT *
FROM pending
WHERE event_id IN (SELECT event_id FROM due)
   OR key_hash IN (SELECT key_hash FROM due WHERE key_hash IS NOT NULL)
