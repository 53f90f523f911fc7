-- what_if_lines: billed tokens and money of current_request, and as they would be with the rows of
--                settled, by tenant, model and line of the bill
-- grain:  tenant_id, model_id, currency, line
-- units:  tokens; amounts exact, in `currency`
-- what_if_key: prices of the book that is tried; those in use are in price_key
WITH key AS (
    SELECT *
    FROM price_key
    UNION ALL BY NAME
    SELECT *
    FROM what_if_key
    WHERE price_key NOT IN (SELECT price_key FROM price_key)
),
weighed AS (
    SELECT 1 AS is_now, 1 AS would_be, COLUMNS(c -> c IN (
        'tenant_id', 'model_id', 'price_key', 'uncached_tokens', 'cached_tokens',
        'cached_explicit_tokens', 'cache_write_tokens', 'cache_write_1h_tokens', 'output_tokens',
        'reasoning_tokens'))
    FROM current_request
    WHERE disposition = 'billed'
    UNION ALL BY NAME
    SELECT 0 AS is_now, sign AS would_be, COLUMNS(c -> c IN (
        'tenant_id', 'model_id', 'price_key', 'uncached_tokens', 'cached_tokens',
        'cached_explicit_tokens', 'cache_write_tokens', 'cache_write_1h_tokens', 'output_tokens',
        'reasoning_tokens'))
    FROM settled
    WHERE disposition = 'billed'
),
summed AS (
    SELECT
        tenant_id, model_id, price_key, is_now, would_be,
        sum(uncached_tokens)::BIGINT AS uncached_tokens,
        sum(cached_tokens)::BIGINT AS cached_tokens,
        sum(cached_explicit_tokens)::BIGINT AS cached_explicit_tokens,
        sum(cache_write_tokens)::BIGINT AS cache_write_tokens,
        sum(cache_write_1h_tokens)::BIGINT AS cache_write_1h_tokens,
        sum(output_tokens)::BIGINT AS output_tokens,
        sum(reasoning_tokens)::BIGINT AS reasoning_tokens
    FROM weighed
    GROUP BY ALL
),
lined AS (
    SELECT
        s.tenant_id, s.model_id, k.currency, s.is_now, s.would_be,
        unnest([
            {line: 'input', tokens: s.uncached_tokens, price: k.input_price},
            {line: 'cached_input', tokens: s.cached_tokens, price: k.cached_price},
            {line: 'cached_input', tokens: s.cached_explicit_tokens, price: k.cached_explicit_price},
            {line: 'cache_write', tokens: s.cache_write_tokens, price: k.cache_write_price},
            {line: 'cache_write', tokens: s.cache_write_1h_tokens, price: k.cache_write_1h_price},
            {line: 'output', tokens: s.output_tokens, price: k.output_price},
            {line: 'reasoning', tokens: s.reasoning_tokens, price: k.reasoning_price}
        ]) AS part
    FROM summed AS s
    JOIN key AS k ON k.price_key = s.price_key
)
SELECT
    tenant_id, model_id, currency, part.line AS line,
    sum(is_now * part.tokens)::BIGINT                                          AS tokens_before,
    sum(would_be * part.tokens)::BIGINT                                         AS tokens_after,
    sum(charge(is_now * part.tokens, part.price))::DECIMAL(38, 15)             AS amount_before,
    sum(charge(would_be * part.tokens, part.price))::DECIMAL(38, 15)            AS amount_after
FROM lined
WHERE part.tokens <> 0
GROUP BY ALL
ORDER BY ALL
