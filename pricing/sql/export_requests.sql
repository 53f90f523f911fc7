-- export_requests: requests as they stand now, with their money
-- grain:  request and part; rows weighted by sign, so corrections are applied
-- units:  tokens; amounts exact, in `currency`; for rows that are not billed: what is at stake
-- window: billing_at in [$start_at, $end_at)
-- scope:  $every_tenant, or the tenant $tenant_id (pricing/scope.py)
SELECT
    request_id::VARCHAR              AS request_id,
    part::BIGINT                     AS part,
    timezone('UTC', billing_at)      AS billing_at,
    timezone('UTC', finished_at)     AS finished_at,
    tenant_id, project_id, cost_centre_id, api_key_id, model_id, operation, service_tier, region,
    disposition, reason, input_node_id, output_node_id,
    uncached_tokens, cached_tokens, cached_explicit_tokens, cache_write_tokens,
    cache_write_1h_tokens, unsplit_tokens, output_tokens, reasoning_tokens,
    book, entry, context_tier, band, currency,
    input_amount::DECIMAL(38, 15)       AS input_amount,
    cached_amount::DECIMAL(38, 15)      AS cached_amount,
    cache_write_amount::DECIMAL(38, 15) AS cache_write_amount,
    output_amount::DECIMAL(38, 15)      AS output_amount,
    reasoning_amount::DECIMAL(38, 15)   AS reasoning_amount,
    amount::DECIMAL(38, 15)             AS amount
FROM request_money AS r
WHERE billing_at >= $start_at
  AND billing_at < $end_at
  AND ($every_tenant OR tenant_id = $tenant_id)
  AND sign = 1
  AND NOT EXISTS (
      SELECT 1 FROM request AS x
      WHERE x.request_id = r.request_id AND x.part = r.part AND x.sign = -1
        AND x.revision = r.revision
        AND x.billing_at >= $start_at AND x.billing_at < $end_at
  )
