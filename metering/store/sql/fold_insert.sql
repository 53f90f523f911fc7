-- fold_insert: the folded rows in place of those removed
-- grain:   the roll-up's keys
INSERT INTO rollup_table BY NAME FROM folded
