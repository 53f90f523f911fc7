-- findings_silent: nodes that were heard and are not any more
-- grain:  node
-- units:  UTC times
-- window: last heard in [$forgotten_at, $silent_at)
-- scope:  the house alone asks
SELECT
    node_id,
    any_value(stage)  AS stage,
    any_value(pool)   AS pool,
    max(watermark_at) AS watermark_at,
    max(seen_at)      AS seen_at
FROM node_watermark
GROUP BY node_id
HAVING max(seen_at) >= $forgotten_at AND max(seen_at) < $silent_at
ORDER BY node_id
