-- exact_usage_money: exact_usage with its money → temp view
-- grain:  row of exact_usage
-- units:  tokens; amounts exact, in `currency`; as the view usage_money
CREATE OR REPLACE TEMP VIEW exact_usage_money AS
SELECT
    *,
    input_amount + cached_amount + cache_write_amount + output_amount + reasoning_amount AS amount
FROM (
    SELECT
        u.*,
        k.currency,
        charge(u.uncached_tokens, k.input_price)                   AS input_amount,
        charge(u.cached_tokens, k.cached_price)
          + charge(u.cached_explicit_tokens, k.cached_explicit_price) AS cached_amount,
        charge(u.cache_write_tokens, k.cache_write_price)
          + charge(u.cache_write_1h_tokens, k.cache_write_1h_price)   AS cache_write_amount,
        charge(u.output_tokens, k.output_price)                    AS output_amount,
        charge(u.reasoning_tokens, k.reasoning_price)              AS reasoning_amount,
        charge(u.unsplit_tokens, least(k.input_price, k.cached_price))    AS unsplit_amount_min,
        charge(u.unsplit_tokens, greatest(k.input_price, k.cached_price)) AS unsplit_amount_max
    FROM exact_usage AS u
    LEFT JOIN price_key AS k ON k.price_key = u.price_key
)
