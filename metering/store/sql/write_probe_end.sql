-- write_probe_end: takes write_probe back, in the same transaction
DROP VIEW write_probe
