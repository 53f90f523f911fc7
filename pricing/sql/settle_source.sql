-- settle_source: the answers whose bill is the gateway's record: that record is marked, an engine's
--                answer is set aside as the check (cost, reason $set_aside)
-- grain: request_id, part of outcome
-- rules: by model and pool of the leg that delivered; a model's billing source goes before its
--        pool's. The source that a request, or one of its legs, has settled by stays: else a change
--        of the policy would bill an answer twice, or never
-- policy_scope (registered): what models and pools decide otherwise; else $billing_source
UPDATE outcome
SET disposition = CASE WHEN s.is_gateway THEN disposition ELSE 'cost' END,
    reason      = CASE WHEN s.is_gateway THEN reason ELSE $set_aside END,
    flags       = CASE WHEN s.is_gateway THEN flags | $flag_billed_gateway ELSE 0 END | s.scope_flag
FROM (
    WITH settled_leg AS (
        SELECT
            unnest([input_leg_id, output_leg_id])            AS event_id,
            disposition = 'cost'                             AS is_aside,
            flags & ($flag_model_policy | $flag_pool_policy) AS scope_flag
        FROM current_request
        WHERE disposition <> 'cost'
           OR reason = $set_aside
    ),
    before AS (
        SELECT event_id, bool_or(is_aside) AS is_aside, max(scope_flag) AS scope_flag
        FROM settled_leg
        GROUP BY event_id
    ),
    asked AS (
        SELECT
            o.request_id, o.part,
            c.stage = 'gateway'                         AS is_gateway,
            coalesce(i.is_aside, d.is_aside)            AS was_aside,
            coalesce(i.scope_flag, d.scope_flag)        AS scope_before,
            coalesce(m.decision, p.decision, $billing_source) AS decision,
            CASE
                WHEN c.stage = 'gateway' AND c.status = 'aborted' THEN 0  -- that policy decided
                WHEN m.decision IS NOT NULL             THEN $flag_model_policy
                WHEN p.decision IS NOT NULL             THEN $flag_pool_policy
                ELSE 0
            END                                         AS scope_flag
        FROM outcome AS o
        JOIN candidate AS c ON c.event_id = o.request_id
        LEFT JOIN before AS i ON i.event_id = o.input_leg_id
        LEFT JOIN before AS d ON d.event_id = o.output_leg_id
        LEFT JOIN policy_scope AS m
          ON m.scope = 'model' AND m.name = c.model_id AND m.question = 'billing_source'
        LEFT JOIN policy_scope AS p
          ON p.scope = 'pool' AND p.name = c.pool AND p.question = 'billing_source'
        WHERE o.disposition IN ('billed', 'held', 'undelivered')
    )
    SELECT
        request_id, part, is_gateway,
        CASE WHEN was_aside THEN scope_before ELSE scope_flag END AS scope_flag
    FROM asked
    WHERE is_gateway
       OR was_aside
       OR (was_aside IS NULL AND decision = 'gateway')
) AS s
WHERE s.request_id = outcome.request_id
  AND s.part = outcome.part
