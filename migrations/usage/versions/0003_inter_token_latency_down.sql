-- 0003_inter_token_latency: back to samples and hours without them; their figures are lost
DELETE FROM latency_hourly WHERE measure = 'itl';
ALTER TABLE latency_hourly DROP COLUMN up_to_seconds;
ALTER TABLE latency_hourly DROP COLUMN above_seconds;
ALTER TABLE node_sample DROP COLUMN itl_by_bucket;
