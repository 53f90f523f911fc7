-- charged: rows of tokens as sums of tokens and money → temp macro charged
-- grain: the columns named in the list `kept`, of the rows or of their price (currency, entry, …)
-- units: *_tokens in tokens; amounts exact, in `currency`: owed where disposition = 'billed', else
--        at stake, between amount and amount_max
-- why summed: tokens of one price are added before they are priced; the amounts are the same
CREATE OR REPLACE TEMP MACRO charged(source, kept) AS TABLE
WITH summed AS (
    SELECT
        COLUMNS(lambda name: list_contains(kept || ['price_key'], name)),
        sum(requests)::BIGINT               AS requests,
        sum(uncached_tokens)::BIGINT        AS uncached_tokens,
        sum(cached_tokens)::BIGINT          AS cached_tokens,
        sum(cached_explicit_tokens)::BIGINT AS cached_explicit_tokens,
        sum(cache_write_tokens)::BIGINT     AS cache_write_tokens,
        sum(cache_write_1h_tokens)::BIGINT  AS cache_write_1h_tokens,
        sum(unsplit_tokens)::BIGINT         AS unsplit_tokens,
        sum(output_tokens)::BIGINT          AS output_tokens,
        sum(reasoning_tokens)::BIGINT       AS reasoning_tokens
    FROM query_table(source)
    GROUP BY ALL
)
SELECT
    COLUMNS(lambda name: list_contains(kept, name)),
    sum(requests)::BIGINT                                   AS requests,
    sum(uncached_tokens)::BIGINT                            AS uncached_tokens,
    sum(cached_tokens + cached_explicit_tokens)::BIGINT     AS cached_tokens,
    sum(cache_write_tokens + cache_write_1h_tokens)::BIGINT AS cache_write_tokens,
    sum(unsplit_tokens)::BIGINT                             AS unsplit_tokens,
    sum(output_tokens)::BIGINT                              AS output_tokens,
    sum(reasoning_tokens)::BIGINT                           AS reasoning_tokens,
    sum(input_amount)::DECIMAL(38, 15)                      AS input_amount,
    sum(cached_amount)::DECIMAL(38, 15)                     AS cached_amount,
    sum(cache_write_amount)::DECIMAL(38, 15)                AS cache_write_amount,
    sum(output_amount)::DECIMAL(38, 15)                     AS output_amount,
    sum(reasoning_amount)::DECIMAL(38, 15)                  AS reasoning_amount,
    sum(amount + unsplit_amount_min)::DECIMAL(38, 15)       AS amount,
    sum(amount + unsplit_amount_max)::DECIMAL(38, 15)       AS amount_max
FROM priced('summed')
GROUP BY ALL
HAVING sum(requests) <> 0 OR sum(amount) <> 0
