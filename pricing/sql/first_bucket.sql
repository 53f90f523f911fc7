-- first_bucket: when the oldest usage was billed; NULL without usage
SELECT min(bucket_at)
FROM usage_hourly
