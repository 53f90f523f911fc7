-- request_revisions: everything that was ever written about one request, oldest first
-- grain:  request_id, part, revision, sign
-- units:  *_tokens in tokens; amounts exact, in `currency`; prices per million tokens
-- scope:  $every_tenant, or the tenant $tenant_id (pricing/scope.py)
SELECT
    r.settle_seq, r.settled_at, r.part, r.revision, r.sign, r.cause, r.disposition, r.reason,
    r.request_id::VARCHAR AS request_id, r.billing_at, r.finished_at,
    r.tenant_id, r.project_id, r.cost_centre_id, r.api_key_id, r.model_id, r.operation,
    r.service_tier, r.region, r.pool, r.key_hash, r.flags, r.adjusts_period,
    r.input_node_id, r.output_node_id,
    r.input_leg_id::VARCHAR AS input_leg_id, r.output_leg_id::VARCHAR AS output_leg_id,
    r.uncached_tokens, r.cached_tokens, r.cached_explicit_tokens, r.cache_write_tokens,
    r.cache_write_1h_tokens, r.unsplit_tokens, r.output_tokens, r.reasoning_tokens,
    r.amount + r.unsplit_amount_min AS amount,
    r.amount + r.unsplit_amount_max AS amount_max,
    r.currency, r.book, r.entry, r.context_tier, r.band, k.book_revision, k.contract,
    k.service_tier AS price_service_tier, k.region AS price_region,
    k.input_price, k.cached_price, k.cached_explicit_price, k.cache_write_price,
    k.cache_write_1h_price, k.output_price, k.reasoning_price
FROM request_money AS r
LEFT JOIN price_key AS k ON k.price_key = r.price_key
WHERE r.request_id = $request_id::UUID
  AND ($every_tenant OR r.tenant_id = $tenant_id)
ORDER BY r.settle_seq, r.part, r.revision, r.sign DESC
