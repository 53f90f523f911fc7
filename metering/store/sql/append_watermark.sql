-- append_watermark: how far a node has sent its lines
-- grain:   node and stage; readers take the greatest watermark_at
-- units:   times UTC
INSERT INTO node_watermark VALUES ($node_id, $stage, $pool, $watermark_at, $seen_at)
