-- settle_owners: line sets with their owner and the instant that decides the price → temp table owned
-- grain: request_id, part
-- the directory tables are views of the ledger as of this batch (pricing/directory.py)
-- a request that was billed before keeps its billing instant (contract.md §3)
CREATE OR REPLACE TEMP TABLE owned AS
WITH named AS (
    SELECT
        l.* REPLACE (
            coalesce(l.tenant_id, k.tenant_id)   AS tenant_id,
            coalesce(l.project_id, k.project_id) AS project_id,
            coalesce(c.billing_at, l.billing_at) AS billing_at
        )
    FROM line_set AS l
    LEFT JOIN directory_key AS k
      ON l.tenant_id IS NULL AND k.api_key_id = l.api_key_id
    LEFT JOIN current_request AS c
      ON c.request_id = l.request_id AND c.part = l.part AND c.disposition IN ('billed', 'unpriced')
)
SELECT
    n.*,
    p.cost_centre_id,
    t.tenant_id AS contract_tenant_id,
    m.month     AS adjusts_period
FROM named AS n
LEFT JOIN directory_project AS p
  ON p.tenant_id = n.tenant_id AND p.project_id = n.project_id
 AND n.billing_at >= p.from_at AND n.billing_at < p.until_at
LEFT JOIN directory_contract AS t
  ON t.tenant_id = n.tenant_id
LEFT JOIN directory_closed AS m
  ON m.tenant_id = n.tenant_id
 AND n.billing_at >= m.start_at AND n.billing_at < m.end_at
