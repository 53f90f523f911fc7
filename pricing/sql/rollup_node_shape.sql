-- rollup_node_shape: context mix of prefill work, as deltas of node_shape_daily
-- grain: UTC day of the finish, node, model, power-of-two class of input and of cached length
INSERT INTO node_shape_daily
SELECT
    finished_at::DATE, node_id, model_id,
    CASE WHEN input_tokens > 0 THEN floor(log2(input_tokens))::INTEGER ELSE -1 END,
    CASE WHEN cached_input_tokens > 0 THEN floor(log2(cached_input_tokens))::INTEGER ELSE -1 END,
    count(*), coalesce(sum(input_tokens), 0)::BIGINT, coalesce(sum(cached_input_tokens), 0)::BIGINT,
    coalesce(sum(prefill_seconds), 0)
FROM leg
WHERE ingest_seq > $from_seq AND ingest_seq <= $to_seq AND stage IN ('prefill', 'unified')
GROUP BY ALL
