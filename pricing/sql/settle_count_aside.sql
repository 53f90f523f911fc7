-- settle_count_aside: request rows in force that an earlier policy set aside as the check
SELECT count(*)
FROM current_request
WHERE reason = $set_aside
