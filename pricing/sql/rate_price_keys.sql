-- rate_price_keys: every price key in use
-- grain: price_key
SELECT *
FROM price_key
