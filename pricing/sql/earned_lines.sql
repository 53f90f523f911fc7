-- earned_lines: rows of requests as the lines that each server earned → temp macro earned_lines
-- grain: row of the table named `source`, and server
-- units: tokens and requests with the sign of the row
-- input lines belong to the node that prefilled, output lines to the node that decoded
CREATE OR REPLACE TEMP MACRO earned_lines(source) AS TABLE
SELECT
    billing_at, tenant_id, input_node_id AS node_id, input_stage AS stage, pool, model_id,
    disposition, reason, price_key, flags,
    sign * request_count AS requests,
    sign * uncached_tokens AS uncached_tokens, sign * cached_tokens AS cached_tokens,
    sign * cached_explicit_tokens AS cached_explicit_tokens,
    sign * cache_write_tokens AS cache_write_tokens,
    sign * cache_write_1h_tokens AS cache_write_1h_tokens,
    sign * unsplit_tokens AS unsplit_tokens,
    CASE WHEN output_node_id IS NOT DISTINCT FROM input_node_id AND output_stage = input_stage
         THEN sign * output_tokens ELSE 0 END AS output_tokens,
    CASE WHEN output_node_id IS NOT DISTINCT FROM input_node_id AND output_stage = input_stage
         THEN sign * reasoning_tokens ELSE 0 END AS reasoning_tokens
FROM query_table(source)
WHERE input_leg_id IS NOT NULL
UNION ALL
SELECT
    billing_at, tenant_id, output_node_id, output_stage, pool, model_id,
    disposition, reason, price_key, flags,
    sign * request_count, 0, 0, 0, 0, 0, 0,
    sign * output_tokens, sign * reasoning_tokens
FROM query_table(source)
WHERE output_leg_id IS NOT NULL
  AND (input_leg_id IS NULL OR output_node_id IS DISTINCT FROM input_node_id
       OR output_stage <> input_stage)
