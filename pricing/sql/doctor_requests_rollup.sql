-- doctor_requests_rollup: price keys whose requests or tokens differ between the requests and the
--                         roll-up (docs/architecture.md, V7)
-- grain: one row
WITH listed AS (
    SELECT
        price_key, disposition,
        sum(sign * request_count) AS requests,
        sum(sign * (uncached_tokens + cached_tokens + cached_explicit_tokens + cache_write_tokens
            + cache_write_1h_tokens + unsplit_tokens + output_tokens + reasoning_tokens)) AS tokens
    FROM request
    GROUP BY ALL
),
rolled AS (
    SELECT
        price_key, disposition,
        sum(requests) AS requests,
        sum(uncached_tokens + cached_tokens + cached_explicit_tokens + cache_write_tokens
            + cache_write_1h_tokens + unsplit_tokens + output_tokens + reasoning_tokens) AS tokens
    FROM usage_hourly
    GROUP BY ALL
)
SELECT count(*) AS wrong
FROM listed AS l
FULL JOIN rolled AS r
  ON r.price_key IS NOT DISTINCT FROM l.price_key AND r.disposition = l.disposition
WHERE coalesce(l.requests, 0) <> coalesce(r.requests, 0)
   OR coalesce(l.tokens, 0) <> coalesce(r.tokens, 0)
