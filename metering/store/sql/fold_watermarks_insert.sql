-- fold_watermarks_insert: the last word of each node
-- grain:   node, stage, pool
INSERT INTO node_watermark BY NAME FROM folded
