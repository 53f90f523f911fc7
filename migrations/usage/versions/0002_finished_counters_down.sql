-- 0002_finished_counters: back to samples without them
ALTER TABLE node_sample DROP COLUMN counter_finished_output_tokens;
ALTER TABLE node_sample DROP COLUMN counter_finished_input_tokens;
