-- append_judged: verdicts → the outcome of each row (docs/wire.md, Which id a leg has)
-- grain:   row of `incoming`
-- why w:   within one transaction the first readable row of an id stands for those after it
-- why if(): an equality alone is a hash join; `AND f.row <> v.row` made it a nested loop of 3 s
CREATE OR REPLACE TEMP TABLE judged AS
WITH first AS (
    SELECT event_id, min(row) AS row
    FROM verdict
    WHERE fault IS NULL
    GROUP BY event_id
)
SELECT
    v.row,
    v.batch,
    v.record,
    v.event_id,
    v.content_hash,
    v.key_hash,
    v.fault,
    CASE
        WHEN v.fault IS NOT NULL THEN 'rejected'
        WHEN k.event_id IS NULL AND v.row = f.row THEN 'accepted'
        WHEN v.content_hash <> coalesce(k.content_hash, w.content_hash) THEN 'conflict'
        WHEN k.event_id IS NULL
             AND (v.node_id IS DISTINCT FROM w.node_id OR v.tenant_id IS DISTINCT FROM w.tenant_id)
            THEN 'reattributed'
        WHEN k.owned
             AND (v.node_id IS DISTINCT FROM k.node_id OR v.tenant_id IS DISTINCT FROM k.tenant_id)
            THEN 'reattributed'
        ELSE 'duplicate'
    END AS outcome,
    if(k.event_id IS NULL, w.node_id, k.node_id)     AS first_node_id,
    if(k.event_id IS NULL, w.tenant_id, k.tenant_id) AS first_tenant_id
FROM verdict v
LEFT JOIN known k ON k.event_id = v.event_id
LEFT JOIN first f ON f.event_id = v.event_id
LEFT JOIN verdict w ON w.row = if(f.row <> v.row, f.row, NULL)
