-- rollup_node_work: what the engines did, by finish, as deltas of node_hourly
-- grain:  UTC hour of the finish, node, stage, pool, model; disposition 'work'
-- window: legs with ingest_seq in ($from_seq, $to_seq]; each leg once, billed or not
INSERT INTO node_hourly
SELECT
    date_trunc('hour', finished_at), node_id, stage, pool, model_id, 'work', NULL, NULL, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0,
    count(*),
    coalesce(sum(input_tokens), 0)::BIGINT,
    coalesce(sum(cached_input_tokens), 0)::BIGINT,
    coalesce(sum(output_tokens), 0)::BIGINT,
    coalesce(sum(queue_seconds), 0), coalesce(sum(prefill_seconds), 0), coalesce(sum(decode_seconds), 0)
FROM leg
WHERE ingest_seq > $from_seq
  AND ingest_seq <= $to_seq
  AND stage <> 'gateway'
GROUP BY ALL
