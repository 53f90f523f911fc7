-- sample_known: samples of the batch that are stored already, looked for in one time range
-- grain:   event_id as in sample_verdict
-- window:  sampled_at in $first_at..$last_at, inclusive
INSERT INTO known
SELECT DISTINCT
    md5(concat_ws('|', epoch_us(sampled_at), node_id, source, coalesce(stage, '-'),
        coalesce(model_id, '-')))::UUID AS sample_id,
    '00000000-0000-0000-0000-000000000000'::UUID,
    NULL,
    NULL,
    false
FROM node_sample
WHERE sampled_at BETWEEN $first_at AND $last_at
  AND sample_id IN (SELECT event_id FROM verdict WHERE fault IS NULL)
