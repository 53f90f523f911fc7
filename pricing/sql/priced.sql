-- priced: rows of tokens with their money → temp macro priced
-- grain: row of the table, view or query named `source`, which has the lines of tokens and a price_key
-- units: amounts exact, in `currency`; as the views usage_money and node_money
CREATE OR REPLACE TEMP MACRO priced(source) AS TABLE
SELECT
    *,
    input_amount + cached_amount + cache_write_amount + output_amount + reasoning_amount AS amount
FROM (
    SELECT
        s.*,
        k.currency, k.entry, k.context_tier, k.band,
        charge(s.uncached_tokens, k.input_price)                   AS input_amount,
        charge(s.cached_tokens, k.cached_price)
          + charge(s.cached_explicit_tokens, k.cached_explicit_price) AS cached_amount,
        charge(s.cache_write_tokens, k.cache_write_price)
          + charge(s.cache_write_1h_tokens, k.cache_write_1h_price)   AS cache_write_amount,
        charge(s.output_tokens, k.output_price)                    AS output_amount,
        charge(s.reasoning_tokens, k.reasoning_price)              AS reasoning_amount,
        charge(s.unsplit_tokens, least(k.input_price, k.cached_price))    AS unsplit_amount_min,
        charge(s.unsplit_tokens, greatest(k.input_price, k.cached_price)) AS unsplit_amount_max
    FROM query_table(source) AS s
    LEFT JOIN price_key AS k ON k.price_key = s.price_key
)
