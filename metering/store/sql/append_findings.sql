-- append_findings: rows that are neither stored nor a plain repeat, each with its record as JSON
-- grain:   row of `incoming`
-- units:   record at most 64 KiB of text, without its NULL fields; times ISO 8601 UTC
CREATE OR REPLACE TEMP TABLE findings AS
WITH refused AS (
    SELECT * REPLACE (
        strftime(started_at, '%Y-%m-%dT%H:%M:%S.%fZ')  AS started_at,
        strftime(finished_at, '%Y-%m-%dT%H:%M:%S.%fZ') AS finished_at
    )
    FROM incoming
    WHERE row IN (SELECT row FROM judged WHERE outcome NOT IN ('accepted', 'duplicate'))
),
record AS (
    SELECT
        row,
        left(json_merge_patch('{}', to_json(struct_pack(*COLUMNS(
            * EXCLUDE (row, batch, record, is_foreign, sender)
        ))))::VARCHAR, 65536) AS text
    FROM refused
)
SELECT
    j.row,
    j.batch,
    j.record,
    j.outcome,
    i.sender,
    j.event_id,
    i.tenant_id,
    i.node_id,
    i.model_id,
    CASE
        WHEN j.outcome = 'rejected' THEN split_part(j.fault, '|', 1)
        WHEN j.outcome = 'conflict' THEN 'event_id'
        WHEN i.node_id IS DISTINCT FROM j.first_node_id THEN 'node_id'
        ELSE 'tenant_id'
    END AS field,
    CASE
        WHEN j.outcome = 'rejected' THEN substr(j.fault, strpos(j.fault, '|') + 1)
        WHEN j.outcome = 'conflict'
            THEN 'stored already with other content; the first bills until somebody decides'
        ELSE 'stored already for node ' || coalesce(j.first_node_id, 'unknown')
            || ', tenant ' || coalesce(j.first_tenant_id, 'unknown') || '; the first stands'
    END AS reason,
    r.text,
    i.finished_at
FROM judged j
JOIN incoming i USING (row)
JOIN record r USING (row)
ORDER BY j.row
