-- close_nodes: how far each node has sent what it knows
-- grain: node
-- units: UTC times
SELECT node_id, max(watermark_at) AS watermark_at, max(seen_at) AS seen_at
FROM node_watermark
GROUP BY node_id
ORDER BY node_id
