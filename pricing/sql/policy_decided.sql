-- policy_decided: what the policies decide about questions → temp macro policy_decided
-- grain: row of the table or query named `source`, which has question (NULL: none), tenant_id and pool
-- rules: the tenant before the pool before the house; decided_by: which of them, NULL where none did
-- policy_scope (registered): the decisions of each
CREATE OR REPLACE TEMP MACRO policy_decided(source) AS TABLE
SELECT
    s.*,
    coalesce(t.decision, p.decision, h.decision) AS decision,
    CASE
        WHEN t.decision IS NOT NULL THEN 'tenant'
        WHEN p.decision IS NOT NULL THEN 'pool'
        WHEN h.decision IS NOT NULL THEN 'house'
    END                                          AS decided_by
FROM query_table(source) AS s
LEFT JOIN policy_scope AS t
  ON t.scope = 'tenant' AND t.name = s.tenant_id AND t.question = s.question
LEFT JOIN policy_scope AS p
  ON p.scope = 'pool' AND p.name = s.pool AND p.question = s.question
LEFT JOIN policy_scope AS h
  ON h.scope = 'house' AND h.question = s.question
