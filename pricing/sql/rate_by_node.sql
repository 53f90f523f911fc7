-- rate_by_node: exact amount by the node that earned it
-- grain: node_id
SELECT node_id, sum(amount)::DECIMAL(38, 15) AS amount
FROM node_money
WHERE disposition = 'billed'
GROUP BY node_id
ORDER BY node_id
