-- leg_store: accepted rows → leg
-- grain:   event_id
-- units:   seconds; one that is not a finite number is unknown, so NULL, as is an empty name
-- window:  $after_seq: the last ingest_seq so far; $ingested_at UTC
INSERT INTO leg BY NAME
SELECT
    $after_seq + row_number() OVER () AS ingest_seq,
    $ingested_at                      AS ingested_at,
    j.event_id,
    j.content_hash,
    j.key_hash,
    i.* EXCLUDE (row, batch, record, is_foreign, event_id) REPLACE (
        nullif(i.tenant_id, '')  AS tenant_id,
        nullif(i.project_id, '') AS project_id,
        nullif(i.api_key_id, '') AS api_key_id,
        nullif(i.node_id, '')    AS node_id,
        nullif(i.join_key, '')   AS join_key,
        nullif(i.group_id, '')   AS group_id,
        if(isfinite(i.queue_seconds), i.queue_seconds, NULL)             AS queue_seconds,
        if(isfinite(i.prefill_seconds), i.prefill_seconds, NULL)         AS prefill_seconds,
        if(isfinite(i.ttft_seconds), i.ttft_seconds, NULL)               AS ttft_seconds,
        if(isfinite(i.decode_seconds), i.decode_seconds, NULL)           AS decode_seconds,
        if(isfinite(i.e2e_seconds), i.e2e_seconds, NULL)                 AS e2e_seconds,
        if(isfinite(i.kv_transfer_seconds), i.kv_transfer_seconds, NULL) AS kv_transfer_seconds
    )
FROM incoming i
JOIN judged j USING (row)
WHERE j.outcome = 'accepted'
