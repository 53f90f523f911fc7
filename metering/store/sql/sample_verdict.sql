-- sample_verdict: incoming node samples → one verdict each, in the form of leg_verdict
-- grain:   row of the registered Arrow table `incoming`
-- units:   counts 0..9 × 10^18; times UTC; text at most 512 characters; histograms as Prometheus
--          writes them: at most 128 upper bounds in seconds, counts that never fall towards +Inf
-- window:  $earliest_at..$latest_at, inclusive; NULL: times are not held against a clock
-- why event_id: a scrape is known by its time, node, source, stage and model
CREATE OR REPLACE TEMP TABLE verdict AS
SELECT
    row,
    batch,
    record,
    CASE
        WHEN sampled_at IS NULL THEN 'sampled_at|missing: give the UTC time of the scrape'
        WHEN sampled_at NOT BETWEEN '1970-01-01'::TIMESTAMP AND '9999-12-30'::TIMESTAMP
            THEN 'sampled_at|must lie in the years 1970 to 9999'
        WHEN coalesce(node_id, '') = '' THEN 'node_id|missing: name the server'
        WHEN coalesce(source, '') = '' THEN 'source|missing: name the format, e.g. sglang_metrics'
        WHEN stage NOT IN ('prefill', 'decode', 'unified')
            THEN 'stage|expected one of prefill, decode, unified, got ' || left(stage, 64)
        WHEN greatest(running_requests, queued_requests, device_count, counter_input_tokens,
            counter_cached_tokens, counter_output_tokens, counter_requests,
            counter_aborted_requests, counter_finished_input_tokens,
            counter_finished_output_tokens) > 9000000000000000000
            THEN 'counter_input_tokens|a count above 9 × 10^18 is not a count'
        WHEN least(running_requests, queued_requests, device_count, counter_input_tokens,
            counter_cached_tokens, counter_output_tokens, counter_requests,
            counter_aborted_requests, counter_finished_input_tokens,
            counter_finished_output_tokens) < 0
            THEN CASE
                WHEN running_requests < 0 THEN 'running_requests'
                WHEN queued_requests < 0 THEN 'queued_requests'
                WHEN device_count < 0 THEN 'device_count'
                WHEN counter_input_tokens < 0 THEN 'counter_input_tokens'
                WHEN counter_cached_tokens < 0 THEN 'counter_cached_tokens'
                WHEN counter_output_tokens < 0 THEN 'counter_output_tokens'
                WHEN counter_requests < 0 THEN 'counter_requests'
                WHEN counter_aborted_requests < 0 THEN 'counter_aborted_requests'
                WHEN counter_finished_input_tokens < 0 THEN 'counter_finished_input_tokens'
                ELSE 'counter_finished_output_tokens'
            END || '|a count cannot be negative'
        WHEN length(node_id) > 512 THEN 'node_id|at most 512 characters'
        WHEN length(source) > 512 THEN 'source|at most 512 characters'
        WHEN length(pool) > 512 THEN 'pool|at most 512 characters'
        WHEN length(model_id) > 512 THEN 'model_id|at most 512 characters'
        WHEN length(counter_epoch) > 512 THEN 'counter_epoch|at most 512 characters'
        WHEN itl_by_bucket IS NOT NULL AND (
            cardinality(itl_by_bucket) > 128
            OR itl_by_bucket['+Inf'] IS NULL
            OR len(list_filter(map_entries(itl_by_bucket), lambda e:
                coalesce(e.value NOT BETWEEN 0 AND 9000000000000000000, true)
                OR coalesce(try_cast(e.key AS DOUBLE) NOT BETWEEN 0 AND 'Infinity', true))) > 0
            OR list_transform(
                list_sort(list_transform(map_entries(itl_by_bucket),
                    lambda e: {'bound': try_cast(e.key AS DOUBLE), 'counted': e.value})),
                lambda e: e.counted) <> list_sort(map_values(itl_by_bucket)))
            THEN 'itl_by_bucket|at most 128 upper bounds in seconds, +Inf among them, each with a '
                || 'count that is not below that of a smaller bound'
        WHEN itl_by_bucket IS NOT NULL AND coalesce(model_id, '') = ''
            THEN 'model_id|missing: a histogram of latency is of one model'
        WHEN sampled_at > $latest_at
            THEN 'sampled_at|more than 48 hours ahead of the collector''s clock: '
                || 'set the clock of the sender'
        WHEN sampled_at < $earliest_at THEN 'sampled_at|more than 400 days back'
    END AS fault,
    false AS is_foreign,
    md5(concat_ws('|', epoch_us(sampled_at), node_id, source, coalesce(stage, '-'),
        coalesce(model_id, '-')))::UUID AS event_id,
    '00000000-0000-0000-0000-000000000000'::UUID AS content_hash,
    NULL::UBIGINT AS key_hash,
    sampled_at AS finished_at,
    NULL::VARCHAR AS node_id,
    NULL::VARCHAR AS tenant_id
FROM incoming
