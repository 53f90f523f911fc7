-- doctor_price_keys: billed requests whose price is not in the store, and price keys there twice
-- grain: one row
SELECT
    (SELECT count(*) FROM request AS r ANTI JOIN price_key AS k USING (price_key)
     WHERE r.disposition = 'billed')
    + (SELECT count(*) - count(DISTINCT price_key) FROM price_key) AS wrong
