-- sample_store: accepted samples → node_sample
-- grain:   scrape of a node
-- units:   as in metering.usage.SAMPLE_FIELDS; what is not a finite number is unknown, so NULL
-- window:  $ingested_at UTC
INSERT INTO node_sample BY NAME
SELECT
    $ingested_at AS ingested_at,
    i.* EXCLUDE (row, batch, record, is_foreign, sender) REPLACE (
        if(isfinite(i.kv_usage_ratio), i.kv_usage_ratio, NULL) AS kv_usage_ratio,
        if(isfinite(i.gpu_utilization_ratio), i.gpu_utilization_ratio, NULL)
            AS gpu_utilization_ratio,
        if(isfinite(i.power_watts), i.power_watts, NULL)       AS power_watts,
        if(isfinite(i.energy_joules), i.energy_joules, NULL)   AS energy_joules
    )
FROM incoming i
JOIN judged j USING (row)
WHERE j.outcome = 'accepted'
