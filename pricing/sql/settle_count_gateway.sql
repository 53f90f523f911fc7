-- settle_count_gateway: gateway records of the batch
SELECT count(*)
FROM leg
WHERE ingest_seq > $from_seq
  AND ingest_seq <= $to_seq
  AND stage = 'gateway'
