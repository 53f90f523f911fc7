-- close_prices: the prices that a close uses
-- grain: price key
SELECT *
FROM price_key
WHERE price_key IN (SELECT unnest($ids))
