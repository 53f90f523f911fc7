-- 0003_inter_token_latency: engines' histograms of inter-token latency, in samples and by hour
-- grain: node_sample: one map a scrape; NULL: the engine does not say, or the sample is older
-- latency_hourly, measure itl: bucket is -1 and the edges are the engine's own, in seconds: more
--   than above_seconds, at most up_to_seconds; requests is 0, output_tokens the intervals counted
ALTER TABLE node_sample ADD COLUMN itl_by_bucket MAP(VARCHAR, BIGINT);
ALTER TABLE latency_hourly ADD COLUMN above_seconds DOUBLE;
ALTER TABLE latency_hourly ADD COLUMN up_to_seconds DOUBLE;
