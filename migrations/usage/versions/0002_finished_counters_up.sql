-- 0002_finished_counters: the part of an engine's counters that belongs to finished requests
-- grain: row of node_sample; NULL: the engine does not say, or the sample is older than this
ALTER TABLE node_sample ADD COLUMN counter_finished_input_tokens BIGINT;
ALTER TABLE node_sample ADD COLUMN counter_finished_output_tokens BIGINT;
