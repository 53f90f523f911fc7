-- settle_apply_owners: the gateway's word goes before the legs' own (docs/engines/gateways.md)
UPDATE candidate
SET tenant_id = coalesce(g.tenant_id, candidate.tenant_id),
    project_id = CASE WHEN g.tenant_id IS NULL THEN candidate.project_id ELSE g.project_id END,
    api_key_id = coalesce(g.api_key_id, candidate.api_key_id)
FROM gateway_owner AS g
WHERE g.event_id = candidate.event_id
