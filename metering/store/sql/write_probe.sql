-- write_probe: the smallest change that must reach the log; write_probe_end takes it back
CREATE OR REPLACE VIEW write_probe AS SELECT 1 AS one
