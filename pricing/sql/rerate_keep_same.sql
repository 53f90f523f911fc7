-- rerate_keep_same: what costs the same as before is not written anew, under whatever name its price
-- grain:  request_id, part
-- units:  exact amounts
DELETE FROM settled AS s
USING current_request AS c, price_key AS was, price_key AS is_now
WHERE c.request_id = s.request_id
  AND c.part = s.part
  AND was.price_key = c.price_key
  AND is_now.price_key = s.price_key
  AND c.disposition = 'billed'
  AND s.disposition = 'billed'
  AND was.currency = is_now.currency
  AND charge(c.uncached_tokens, was.input_price) + charge(c.cached_tokens, was.cached_price)
      + charge(c.cached_explicit_tokens, was.cached_explicit_price)
      + charge(c.cache_write_tokens, was.cache_write_price)
      + charge(c.cache_write_1h_tokens, was.cache_write_1h_price)
      + charge(c.output_tokens, was.output_price) + charge(c.reasoning_tokens, was.reasoning_price)
    = charge(s.uncached_tokens, is_now.input_price) + charge(s.cached_tokens, is_now.cached_price)
      + charge(s.cached_explicit_tokens, is_now.cached_explicit_price)
      + charge(s.cache_write_tokens, is_now.cache_write_price)
      + charge(s.cache_write_1h_tokens, is_now.cache_write_1h_price)
      + charge(s.output_tokens, is_now.output_price) + charge(s.reasoning_tokens, is_now.reasoning_price)
