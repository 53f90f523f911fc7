-- price_cells: the registered cells → temp table price_cell
-- grain: a case of the batch and one of its cells
-- why a table: its size is known to the planner, which then hashes the cells and not the requests
CREATE OR REPLACE TEMP TABLE price_cell AS
SELECT *
FROM new_price_cell
