-- settle_gateway_owners: whom the gateway names for each candidate, and by which record → temp table
--                        gateway_owner
-- grain:  event_id of the engine's leg
-- joins by the id that the engine saw, within the pool and one hour; if several match, none does
CREATE OR REPLACE TEMP TABLE gateway_owner AS
WITH gateway AS (
    SELECT event_id, engine_request_id, pool, finished_at, tenant_id, project_id, api_key_id
    FROM leg
    WHERE stage = 'gateway'
      AND finished_at BETWEEN (SELECT min(finished_at) FROM candidate) - INTERVAL 1 HOUR
                          AND (SELECT max(finished_at) FROM candidate) + INTERVAL 1 HOUR
      AND ingest_seq <= $to_seq
      AND engine_request_id IS NOT NULL
)
SELECT
    c.event_id,
    any_value(c.tenant_id)  AS leg_tenant_id,
    any_value(g.event_id)   AS gateway_leg_id,
    any_value(g.tenant_id)  AS tenant_id,
    any_value(g.project_id) AS project_id,
    any_value(g.api_key_id) AS api_key_id
FROM candidate AS c
JOIN gateway AS g
  ON g.engine_request_id = c.engine_request_id
 AND (g.pool IS NULL OR g.pool = c.pool)
 AND g.finished_at BETWEEN c.finished_at - INTERVAL 1 HOUR AND c.finished_at + INTERVAL 1 HOUR
GROUP BY c.event_id
HAVING count(*) = 1
