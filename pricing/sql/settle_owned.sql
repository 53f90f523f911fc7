-- settle_owned: outcomes with the tokens of their legs, their owner and the instant of their price
--               → temp table owned
-- grain:  request_id, part
-- units:  tokens; the lines uncached … reasoning are disjoint
-- rules:  lines as pricing/rating.py split_tokens; owners from the ledger as of this batch
--         (pricing/directory.py); a request that was billed before keeps its billing instant
CREATE OR REPLACE TEMP TABLE owned AS
WITH joined AS (
    SELECT
        o.*,
        i.input_tokens                                     AS n,
        CASE o.split_rule WHEN 'leg' THEN i.cached_input_tokens WHEN 'none' THEN 0 END AS h,
        CASE o.split_rule WHEN 'leg' THEN coalesce(i.cached_explicit_tokens, 0) ELSE 0 END AS e,
        coalesce(i.cache_write_tokens, 0)                  AS w,
        coalesce(i.cache_write_1h_tokens, 0)               AS w1,
        d.output_tokens                                    AS out,
        coalesce(d.reasoning_tokens, 0)                    AS think,
        i.stage AS input_stage, d.stage AS output_stage,
        -- a gateway is no server: settle_earners.sql says which ones made the answer that it bills
        CASE WHEN i.stage <> 'gateway' THEN i.node_id END  AS input_node_id,
        CASE WHEN d.stage <> 'gateway' THEN d.node_id END  AS output_node_id,
        i.started_at AS input_started_at,
        coalesce(d.started_at, i.started_at)               AS started_at,
        coalesce(d.finished_at, i.finished_at)             AS finished_at,
        coalesce(d.tenant_id, i.tenant_id)                 AS tenant_id,
        coalesce(d.project_id, i.project_id)               AS project_id,
        coalesce(d.api_key_id, i.api_key_id)               AS api_key_id,
        coalesce(d.model_id, i.model_id)                   AS model_id,
        coalesce(d.operation, i.operation)                 AS operation,
        coalesce(d.service_tier, i.service_tier)           AS service_tier,
        coalesce(i.region, d.region)                       AS region,
        coalesce(d.pool, i.pool)                           AS pool,
        coalesce(d.join_key, i.join_key)                   AS join_key,
        sha256(concat_ws('|', i.event_id, i.content_hash, d.event_id, d.content_hash))[1:32]::UUID
                                                           AS legs_hash,
          (coalesce(i.cached_input_tokens > i.input_tokens, false)
           OR coalesce(d.cached_input_tokens > d.input_tokens, false)
           OR coalesce(coalesce(h, 0) + w > n, false)
           OR coalesce(e > h, false) OR w1 > w)::INT       * $flag_cached_exceeds_input
        + coalesce(i.stage = 'prefill' AND i.event_id <> d.event_id
           AND i.cached_input_tokens <> d.cached_input_tokens, false)::INT
                                                           * $flag_decode_cached_differs
        + coalesce(h = n AND n > 0, false)::INT            * $flag_cached_equals_input
        + coalesce(i.stage = 'prefill' AND i.finished_at > d.finished_at, false)::INT
                                                           * $flag_clock_skew
        + coalesce(i.tenant_id <> d.tenant_id, false)::INT * $flag_owner_mismatch
        + coalesce(i.model_id <> d.model_id, false)::INT   * $flag_model_differs
        + coalesce(i.stage = 'prefill' AND i.status <> 'ok' AND d.status = 'ok', false)::INT
                                                           * $flag_prefill_status_differs
        + coalesce(d.reasoning_tokens > d.output_tokens, false)::INT
                                                           * $flag_reasoning_exceeds_output
        + (coalesce(d.retractions, i.retractions, 0) > 0)::INT * $flag_retracted
        + (coalesce(d.status, i.status) = 'aborted')::INT  * $flag_aborted AS found
    FROM outcome AS o
    LEFT JOIN candidate AS i ON i.event_id = o.input_leg_id
    LEFT JOIN candidate AS d ON d.event_id = o.output_leg_id
    WHERE o.disposition <> 'waiting'
),
checked AS (
    SELECT
        *,
        h IS NOT NULL AND n IS NOT NULL AND h + w <= n AND e <= h AND w1 <= w AS is_split,
        w1 <= w AND w <= n                                                    AS is_write
    FROM joined
),
line_set AS (
    SELECT
        request_id, part, disposition, reason, input_leg_id, output_leg_id, key_hash,
        (part = 0)::BIGINT AS request_count,
        coalesce(
            billing_at,
            CASE WHEN input_stage = 'prefill' THEN input_started_at END,
            started_at
        ) AS billing_at,
        finished_at, tenant_id, project_id, api_key_id, model_id, operation, service_tier, region,
        pool, join_key, input_stage, output_stage, input_node_id, output_node_id, legs_hash,
        n AS input_tokens,
        coalesce(tier_input_tokens, n)    AS tier_input_tokens,
        coalesce(tier_output_tokens, out) AS tier_output_tokens,
        CASE WHEN is_split THEN n - h - w ELSE 0 END              AS uncached_tokens,
        CASE WHEN is_split THEN h - e ELSE 0 END                  AS cached_tokens,
        CASE WHEN is_split THEN e ELSE 0 END                      AS cached_explicit_tokens,
        CASE WHEN is_split OR is_write THEN w - w1 ELSE 0 END     AS cache_write_tokens,
        CASE WHEN is_split OR is_write THEN w1 ELSE 0 END         AS cache_write_1h_tokens,
        CASE
            WHEN is_split OR n IS NULL THEN 0
            WHEN is_write THEN n - w
            ELSE n
        END                                                       AS unsplit_tokens,
        CASE WHEN think <= out THEN out - think ELSE coalesce(out, 0) END AS output_tokens,
        CASE WHEN think <= out THEN think ELSE 0 END              AS reasoning_tokens,
        output_leg_id IS NULL OR out IS NOT NULL                  AS output_known,
        input_leg_id IS NULL OR n IS NOT NULL                     AS input_known,
        flags | found                                             AS flags
    FROM checked
),
named AS (
    SELECT
        l.* REPLACE (
            coalesce(l.tenant_id, k.tenant_id)   AS tenant_id,
            coalesce(l.project_id, k.project_id) AS project_id,
            coalesce(c.billing_at, l.billing_at) AS billing_at,
            l.flags | CASE WHEN g.leg_tenant_id <> g.tenant_id THEN $flag_owner_mismatch ELSE 0 END AS flags
        )
    FROM line_set AS l
    LEFT JOIN gateway_owner AS g
      ON g.event_id = coalesce(l.output_leg_id, l.input_leg_id)
    LEFT JOIN directory_key AS k
      ON k.api_key_id = CASE WHEN l.tenant_id IS NULL THEN l.api_key_id END
    LEFT JOIN current_request AS c
      ON c.request_id = l.request_id AND c.part = l.part AND c.disposition IN ('billed', 'unpriced')
)
SELECT
    n.*,
    p.cost_centre_id,
    t.tenant_id AS contract_tenant_id,
    m.month     AS adjusts_period,
    coalesce($now >= m.end_at + to_days($late_usage_days), false) AS is_expired
FROM named AS n
LEFT JOIN directory_project AS p
  ON p.tenant_id = n.tenant_id AND p.project_id = n.project_id
 AND n.billing_at >= p.from_at AND n.billing_at < p.until_at
LEFT JOIN directory_contract AS t
  ON t.tenant_id = n.tenant_id
LEFT JOIN directory_closed AS m
  ON m.tenant_id = n.tenant_id
 AND n.billing_at >= m.start_at AND n.billing_at < m.end_at
