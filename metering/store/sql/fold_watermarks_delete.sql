-- fold_watermarks_delete: removes every watermark, for their last words to be put back
-- grain:   row
DELETE FROM node_watermark
