-- settle_earners: who made the answers of this batch that a gateway's record bills → temp table earner
-- grain:  request_id of the gateway's record
-- window: answers that finished within one hour of each other, in one pool
-- rules:  the record is the one that names the answer's owner (settle_gateway_owners.sql); if several
--         answers match, none of their servers earns
CREATE OR REPLACE TEMP TABLE earner AS
WITH aside AS (
    SELECT
        g.gateway_leg_id, c.engine_request_id, c.finished_at, c.pool,
        o.input_node_id, o.output_node_id, o.input_stage, o.output_stage
    FROM owned AS o
    JOIN gateway_owner AS g ON g.event_id = o.output_leg_id
    JOIN candidate AS c ON c.event_id = o.output_leg_id
    WHERE o.disposition = 'cost'
      AND o.reason = $set_aside
      AND o.part = 0
),
answer AS (
    SELECT event_id, engine_request_id, finished_at, pool
    FROM leg
    WHERE engine_request_id IN (SELECT engine_request_id FROM aside)
      AND stage IN ('decode', 'unified')
      AND status IN ('ok', 'aborted')
      AND ingest_seq <= $to_seq
      AND finished_at BETWEEN (SELECT min(finished_at) FROM aside) - INTERVAL 1 HOUR
                          AND (SELECT max(finished_at) FROM aside) + INTERVAL 1 HOUR
)
SELECT
    a.gateway_leg_id                       AS request_id,
    count(DISTINCT l.event_id) = 1         AS is_one,
    any_value(a.pool)                      AS pool,
    CASE WHEN is_one THEN any_value(a.input_node_id) END  AS input_node_id,
    CASE WHEN is_one THEN any_value(a.output_node_id) END AS output_node_id,
    CASE WHEN is_one THEN any_value(a.input_stage) ELSE 'gateway' END  AS input_stage,
    CASE WHEN is_one THEN any_value(a.output_stage) ELSE 'gateway' END AS output_stage
FROM aside AS a
JOIN answer AS l
  ON l.engine_request_id = a.engine_request_id
 AND l.pool IS NOT DISTINCT FROM a.pool
 AND l.finished_at BETWEEN a.finished_at - INTERVAL 1 HOUR AND a.finished_at + INTERVAL 1 HOUR
GROUP BY a.gateway_leg_id
