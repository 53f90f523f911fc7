-- settle_earned_before: gateway records that were billed before their answers came: taken back where
--                       no server earned them and written anew where those servers do → settled
-- grain:  request_id, part, revision, sign
-- window: finished within one hour of the candidates, as the records match (settle_gateway_owners.sql)
-- rules:  nothing but the servers changes; in a closed month both rows together are no money
INSERT INTO settled
WITH in_force AS (
    SELECT *
    FROM request
    WHERE request_id IN (SELECT request_id FROM earner)
      AND finished_at BETWEEN (SELECT min(finished_at) FROM candidate) - INTERVAL 1 HOUR
                          AND (SELECT max(finished_at) FROM candidate) + INTERVAL 1 HOUR
    QUALIFY sum(sign) OVER (PARTITION BY request_id, part) > 0
        AND revision = max(revision) OVER (PARTITION BY request_id, part)
        AND sign = 1
)
SELECT
    r.* REPLACE (
        $settle_seq AS settle_seq, $now AS settled_at, 'earner' AS cause, w.sign AS sign,
        coalesce(m.month, r.adjusts_period)                                  AS adjusts_period,
        CASE WHEN w.is_new THEN r.revision + 1 ELSE r.revision END           AS revision,
        CASE WHEN w.is_new THEN coalesce(r.pool, e.pool) ELSE r.pool END     AS pool,
        CASE WHEN w.is_new THEN e.input_node_id ELSE r.input_node_id END     AS input_node_id,
        CASE WHEN w.is_new THEN e.output_node_id ELSE r.output_node_id END   AS output_node_id,
        CASE WHEN w.is_new THEN e.input_stage ELSE r.input_stage END         AS input_stage,
        CASE WHEN w.is_new THEN e.output_stage ELSE r.output_stage END       AS output_stage
    )
FROM in_force AS r
JOIN earner AS e ON e.request_id = r.request_id
CROSS JOIN (VALUES ((-1)::TINYINT, false), (1::TINYINT, true)) AS w (sign, is_new)
LEFT JOIN directory_closed AS m
  ON m.tenant_id = r.tenant_id
 AND r.billing_at >= m.start_at AND r.billing_at < m.end_at
WHERE (r.input_node_id, r.output_node_id) IS DISTINCT FROM (e.input_node_id, e.output_node_id)
