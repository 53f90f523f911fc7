-- leg_verdict: incoming rows → one verdict each: its ids and hashes, and its first fault or NULL
-- grain:   row of the registered Arrow table `incoming`
-- units:   tokens 0..10^12; times UTC; text at most 512 characters; maps at most 32 entries
-- window:  $earliest_at..$latest_at, inclusive; NULL: times are not held against a clock
-- why 'field|reason' in one text: one place for a rule and its words; only faulty rows build it
-- why sha256 over coalesce(…, '-'): concat_ws would skip a NULL and shift what follows
CREATE OR REPLACE TEMP TABLE verdict AS
SELECT
    row,
    batch,
    record,
    CASE
        WHEN stage IS NULL OR stage NOT IN ('prefill', 'decode', 'unified', 'gateway')
            THEN 'stage|expected one of prefill, decode, unified, gateway, got '
                || coalesce(left(stage, 64), 'nothing')
        WHEN status IS NULL OR status NOT IN ('ok', 'aborted', 'error', 'rejected', 'warmup')
            THEN 'status|expected one of ok, aborted, error, rejected, warmup, got '
                || coalesce(left(status, 64), 'nothing')
        WHEN coalesce(model_id, '') = '' THEN 'model_id|missing: name the model that served'
        WHEN started_at IS NULL THEN 'started_at|missing: give a UTC time'
        WHEN finished_at IS NULL THEN 'finished_at|missing: give a UTC time'
        WHEN started_at NOT BETWEEN '1970-01-01'::TIMESTAMP AND '9999-12-30'::TIMESTAMP
            THEN 'started_at|must lie in the years 1970 to 9999'
        WHEN finished_at NOT BETWEEN '1970-01-01'::TIMESTAMP AND '9999-12-30'::TIMESTAMP
            THEN 'finished_at|must lie in the years 1970 to 9999'
        WHEN event_id IS NULL THEN 'event_id|missing: 32 hex digits, see docs/wire.md'
        WHEN NOT is_foreign AND (strlen(event_id) <> 32 OR TRY_CAST(event_id AS UUID) IS NULL)
            THEN 'event_id|expected 32 hex digits, got ' || left(event_id, 64)
                || '; an id of your own choice travels as NDJSON or CloudEvents'
        WHEN input_tokens NOT BETWEEN 0 AND 1000000000000
            THEN 'input_tokens|must lie in 0..10^12, got ' || input_tokens
        WHEN output_tokens NOT BETWEEN 0 AND 1000000000000
            THEN 'output_tokens|must lie in 0..10^12, got ' || output_tokens
        WHEN cached_input_tokens NOT BETWEEN 0 AND 1000000000000
            THEN 'cached_input_tokens|must lie in 0..10^12, got ' || cached_input_tokens
        WHEN cached_explicit_tokens NOT BETWEEN 0 AND 1000000000000
            THEN 'cached_explicit_tokens|must lie in 0..10^12, got ' || cached_explicit_tokens
        WHEN cache_write_tokens NOT BETWEEN 0 AND 1000000000000
            THEN 'cache_write_tokens|must lie in 0..10^12, got ' || cache_write_tokens
        WHEN cache_write_1h_tokens NOT BETWEEN 0 AND 1000000000000
            THEN 'cache_write_1h_tokens|must lie in 0..10^12, got ' || cache_write_1h_tokens
        WHEN reasoning_tokens NOT BETWEEN 0 AND 1000000000000
            THEN 'reasoning_tokens|must lie in 0..10^12, got ' || reasoning_tokens
        WHEN group_size NOT BETWEEN 0 AND 1000000000000
            THEN 'group_size|must lie in 0..10^12, got ' || group_size
        WHEN retractions NOT BETWEEN 0 AND 1000000000000
            THEN 'retractions|must lie in 0..10^12, got ' || retractions
        WHEN cached_by_tier IS NOT NULL AND (
            cardinality(cached_by_tier) > 32
            OR len(list_filter(map_values(cached_by_tier),
                lambda v: v IS NULL OR v NOT BETWEEN 0 AND 1000000000000)) > 0
            OR len(list_filter(map_keys(cached_by_tier), lambda k: length(k) > 512)) > 0)
            THEN 'cached_by_tier|at most 32 names, each with a count in 0..10^12'
        WHEN input_by_class IS NOT NULL AND (
            cardinality(input_by_class) > 32
            OR len(list_filter(map_values(input_by_class),
                lambda v: v IS NULL OR v NOT BETWEEN 0 AND 1000000000000)) > 0
            OR len(list_filter(map_keys(input_by_class), lambda k: length(k) > 512)) > 0)
            THEN 'input_by_class|at most 32 names, each with a count in 0..10^12'
        WHEN labels IS NOT NULL AND (
            cardinality(labels) > 32
            OR len(list_filter(map_values(labels), lambda v: length(v) > 512)) > 0
            OR len(list_filter(map_keys(labels), lambda k: length(k) > 512)) > 0)
            THEN 'labels|at most 32 labels of at most 512 characters'
        WHEN length(event_id) > 512 THEN 'event_id|at most 512 characters'
        WHEN length(operation) > 512 THEN 'operation|at most 512 characters'
        WHEN length(engine_request_id) > 512 THEN 'engine_request_id|at most 512 characters'
        WHEN length(join_key) > 512 THEN 'join_key|at most 512 characters'
        WHEN length(client_request_id) > 512 THEN 'client_request_id|at most 512 characters'
        WHEN length(group_id) > 512 THEN 'group_id|at most 512 characters'
        WHEN length(node_id) > 512 THEN 'node_id|at most 512 characters'
        WHEN length(pool) > 512 THEN 'pool|at most 512 characters'
        WHEN length(instance_id) > 512 THEN 'instance_id|at most 512 characters'
        WHEN length(engine) > 512 THEN 'engine|at most 512 characters'
        WHEN length(engine_version) > 512 THEN 'engine_version|at most 512 characters'
        WHEN length(tenant_id) > 512 THEN 'tenant_id|at most 512 characters'
        WHEN length(project_id) > 512 THEN 'project_id|at most 512 characters'
        WHEN length(api_key_id) > 512 THEN 'api_key_id|at most 512 characters'
        WHEN length(model_id) > 512 THEN 'model_id|at most 512 characters'
        WHEN length(service_tier) > 512 THEN 'service_tier|at most 512 characters'
        WHEN length(region) > 512 THEN 'region|at most 512 characters'
        WHEN length(source) > 512 THEN 'source|at most 512 characters'
        WHEN length(source_position) > 512 THEN 'source_position|at most 512 characters'
        WHEN greatest(started_at, finished_at) > $latest_at
            THEN if(finished_at > $latest_at, 'finished_at', 'started_at')
                || '|more than 48 hours ahead of the collector''s clock: set the clock of the sender'
        WHEN least(started_at, finished_at) < $earliest_at
            THEN if(finished_at < $earliest_at, 'finished_at', 'started_at')
                || '|more than 400 days back: bring old usage in with tokentill import'
    END AS fault,
    is_foreign,
    TRY_CAST(CASE
        WHEN is_foreign THEN left(sha256('foreign:' || sender || chr(0) || event_id), 32)
        ELSE event_id
    END AS UUID) AS event_id,
    left(sha256(concat_ws('|',
        coalesce(engine_request_id, '-'), coalesce(join_key, '-'),
        coalesce(client_request_id, '-'), coalesce(model_id, '-'),
        coalesce(epoch_us(started_at), 0), coalesce(epoch_us(finished_at), 0),
        coalesce(input_tokens::VARCHAR, '-'), coalesce(cached_input_tokens::VARCHAR, '-'),
        coalesce(cached_explicit_tokens::VARCHAR, '-'), coalesce(cache_write_tokens::VARCHAR, '-'),
        coalesce(cache_write_1h_tokens::VARCHAR, '-'), coalesce(output_tokens::VARCHAR, '-'),
        coalesce(reasoning_tokens::VARCHAR, '-'), coalesce(status, '-')
    )), 32)::UUID AS content_hash,
    CASE
        WHEN stage IN ('prefill', 'decode') AND join_key <> ''
            THEN hash(coalesce(pool, ''), join_key)
        WHEN stage = 'unified' AND group_id <> '' THEN hash(coalesce(pool, ''), group_id)
    END AS key_hash,
    finished_at,
    node_id,
    nullif(tenant_id, '') AS tenant_id
FROM incoming
