-- doctor_servers_tenants: price keys whose tokens differ between who earned and who pays
--                         (docs/architecture.md, V7)
-- grain: one row
WITH earned AS (
    SELECT
        price_key, disposition,
        sum(uncached_tokens + cached_tokens + cached_explicit_tokens + cache_write_tokens
            + cache_write_1h_tokens + unsplit_tokens) AS input_tokens,
        sum(output_tokens + reasoning_tokens)         AS output_tokens
    FROM node_hourly
    WHERE disposition <> 'work'
    GROUP BY ALL
),
paid AS (
    SELECT
        price_key, disposition,
        sum(uncached_tokens + cached_tokens + cached_explicit_tokens + cache_write_tokens
            + cache_write_1h_tokens + unsplit_tokens) AS input_tokens,
        sum(output_tokens + reasoning_tokens)         AS output_tokens
    FROM usage_hourly
    GROUP BY ALL
)
SELECT count(*) AS wrong
FROM earned AS e
FULL JOIN paid AS p
  ON p.price_key IS NOT DISTINCT FROM e.price_key AND p.disposition = e.disposition
WHERE coalesce(e.input_tokens, 0) <> coalesce(p.input_tokens, 0)
   OR coalesce(e.output_tokens, 0) <> coalesce(p.output_tokens, 0)
