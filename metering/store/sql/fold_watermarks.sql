-- fold_watermarks: the last word of each node → the temporary table `folded`
-- grain:   node, stage, pool
-- units:   times UTC
CREATE OR REPLACE TEMP TABLE folded AS
SELECT
    node_id,
    stage,
    pool,
    max(watermark_at) AS watermark_at,
    max(seen_at)      AS seen_at
FROM node_watermark
GROUP BY node_id, stage, pool
