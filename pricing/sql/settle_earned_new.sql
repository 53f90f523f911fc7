-- settle_earned_new: gateway records of this batch are earned by the servers that made the answers
-- grain: request_id, part of settled
UPDATE settled
SET pool           = coalesce(settled.pool, e.pool),
    input_node_id  = e.input_node_id,
    output_node_id = e.output_node_id,
    input_stage    = e.input_stage,
    output_stage   = e.output_stage
FROM earner AS e
WHERE e.request_id = settled.request_id
  AND settled.sign = 1
