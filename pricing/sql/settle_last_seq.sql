-- settle_last_seq: the last leg of the next batch; legs are stored in ingest order, so zone maps apply
-- window: ingest_seq in ($from_seq, $to_seq]
SELECT max(ingest_seq)
FROM leg
WHERE ingest_seq > $from_seq
  AND ingest_seq <= $to_seq
