-- insert_price_keys: keys (registered: new_price_key) that are not stored yet → price_key
-- grain: price_key
INSERT INTO price_key BY NAME
SELECT *
FROM new_price_key
WHERE price_key NOT IN (SELECT price_key FROM price_key)
